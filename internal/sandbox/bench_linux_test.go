package sandbox

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// What the profiles inspect and edit may add to a command in the middle of the cases.
const (
	inspectLimit = time.Millisecond
	editLimit    = 8 * time.Millisecond
)

// kind is a profile on a machine.
type kind struct {
	name   string
	m      Machine
	p      Name
	outlet bool
}

// BenchmarkStart measures what a profile adds to a command that does nothing, in turns
// with the bare command, so that the machine's mood is the same for all.
func BenchmarkStart(b *testing.B) {
	m := Probe()
	l := benchLab(b)
	kinds := []kind{{"inspect", m, Inspect, false}, {"edit", m, Edit, false}, {"open", m, Open, false}}
	if mayMount(true) == nil {
		users := m
		users.Mounts, users.Users = false, true
		kinds = append(kinds, kind{"edit-users", users, Edit, false}, kind{"open-users", users, Open, false})
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		wrapped := m
		wrapped.Mounts, wrapped.Users, wrapped.Bwrap = false, false, real(path)
		kinds = append(kinds, kind{"edit-bwrap", wrapped, Edit, false})
	}
	if m.Networks() == nil {
		kinds = append(kinds, kind{"edit-outlet", m, Edit, true})
	}
	profiles := map[Name]Profile{}
	for _, n := range Names() { // a caller makes them once for a place
		profiles[n] = l.profile(n)
	}
	took := make([][]time.Duration, len(kinds)+1)
	for b.Loop() {
		start := time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		took[0] = append(took[0], time.Since(start))
		for i, k := range kinds {
			start := time.Now()
			p := profiles[k.p]
			p.Outlet = k.outlet
			proc, err := k.m.Start(exec.Command("/bin/true"), p)
			if err != nil {
				b.Fatal(err)
			}
			if err := proc.Wait(); err != nil {
				b.Fatal(err)
			}
			if err := proc.Close(); err != nil {
				b.Fatal(err)
			}
			if k.outlet {
				if err := proc.Outlet().Close(); err != nil {
					b.Fatal(err)
				}
			}
			took[i+1] = append(took[i+1], time.Since(start))
		}
	}
	for _, t := range took {
		slices.Sort(t)
	}
	middle := func(i int) float64 { return float64(took[i][len(took[i])/2].Microseconds()) }
	b.ReportMetric(middle(0), "bare-µs")
	for i, k := range kinds {
		adds := middle(i+1) - middle(0)
		b.ReportMetric(adds, k.name+"-adds-µs")
		if k.p == Inspect {
			b.ReportMetric(adds/float64(inspectLimit.Microseconds()), k.name+"-of-1ms")
		} else {
			b.ReportMetric(adds/float64(editLimit.Microseconds()), k.name+"-of-8ms")
		}
	}
}

func benchLab(b *testing.B) *lab {
	b.Helper()
	if Probe().Landlock == 0 {
		b.Skip("the kernel has no Landlock")
	}
	base := real(b.TempDir())
	l := &lab{home: base + "/home", dir: base + "/home/work", state: base + "/home/.swarm", temp: base + "/temp"}
	for _, dir := range []string{l.home + "/.ssh", l.home + "/.aws", l.dir + "/.git", l.state, l.temp} {
		if out, err := exec.Command("mkdir", "-p", dir).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	return l
}
