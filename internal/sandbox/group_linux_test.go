package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// testGroup makes a control group, with limits where the system has them here.
func testGroup(t *testing.T) *group {
	t.Helper()
	parent := Probe().Groups
	if parent == "" {
		mount, err := groupMount()
		if err != nil {
			t.Skip(err)
		}
		own, err := groupOf("/proc/self/cgroup")
		if err != nil {
			t.Skip(err)
		}
		parent = filepath.Join(mount, own)
	}
	g, err := newGroup(parent, Totals{})
	if err != nil {
		t.Skipf("no control group is writable: %v", err)
	}
	t.Cleanup(func() {
		if err := g.remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// TestACommandIsBornInItsGroup: the launcher takes the command into its group before it
// runs, whose end is that of all in it.
func TestACommandIsBornInItsGroup(t *testing.T) {
	needs(t, "sleep", "cat", "setsid")
	if !Probe().Launcher {
		t.Skip(Probe().Missing)
	}
	g := testGroup(t)
	if _, err := os.Stat(g.dir + "/cgroup.kill"); err != nil {
		t.Skipf("the kernel ends no group at once: %v", err)
	}
	cmd := exec.Command("/bin/sh", "-c", "cat /proc/self/cgroup; setsid sleep 600 & setsid sleep 600 & exec >/dev/null; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l := &launcher{}
	if err := g.enter(l); err != nil {
		t.Fatal(err)
	}
	on, err := l.wrap(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := on.wait(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4096)
	n, _ := out.Read(text) // what it is shows below
	if !strings.Contains(string(text[:n]), "/"+filepath.Base(g.dir)+"\n") {
		t.Errorf("the command is in %s", text[:n])
	}
	procs, err := os.ReadFile(g.dir + "/cgroup.procs")
	if err != nil || !strings.Contains(string(procs), strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("in the group are %q, %v", procs, err)
	}
	if err := g.kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := g.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(g.dir); err == nil {
		t.Error("the group is still there")
	}
}

// TestGroupsHoldTotals starts more processes than a group may have, and takes more memory.
func TestGroupsHoldTotals(t *testing.T) {
	m := Probe()
	if m.Groups == "" {
		t.Skipf("no control group: %s", m.Ungrouped)
	}
	needs(t, "sleep", "head", "tail")
	l := newLab(t)
	for script, want := range map[string]string{
		"for i in 1 2 3 4 5 6 7 8; do sleep 600 & done 2>&1; wait": "processes, more than 4",
		"head -c 200000000 /dev/zero | tail":                       "MiB of memory together, more than 64",
	} {
		p := l.profile(Open)
		p.Totals = Totals{Processes: 4, Memory: 64 << 20}
		proc, err := m.Start(l.in(script), p)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = proc.Wait() // it was killed
		}()
		if why := proc.Measure(ended); !strings.Contains(why, want) {
			t.Errorf("%s: %q", script, why)
		}
		if _, err := proc.KillAll(); err != nil {
			t.Error(err)
		}
		<-ended
		if err := proc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWhatAGroupHasHeldIsNamed reads what the kernel counts.
func TestWhatAGroupHasHeldIsNamed(t *testing.T) {
	g := &group{t.TempDir()}
	limits := Totals{Processes: 7, Memory: 64 << 20}
	write(t, g.dir+"/pids.events", "max 0\n")
	write(t, g.dir+"/memory.events", "low 0\nhigh 3\nmax 9\noom 0\noom_kill 0\noom_group_kill 0\n")
	if why := g.exceeded(limits); why != "" {
		t.Errorf("within the limits: %s", why)
	}
	write(t, g.dir+"/pids.events", "max 2\n")
	if why := g.exceeded(limits); !strings.Contains(why, "more than 7") {
		t.Errorf("too many processes: %s", why)
	}
	write(t, g.dir+"/memory.events", "oom_kill 4\n")
	if why := g.exceeded(limits); !strings.Contains(why, "more than 64") {
		t.Errorf("too much memory: %s", why)
	}
}

// TestOnlyALoneProcessMoves: a group in which other programs are is left alone.
func TestOnlyALoneProcessMoves(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/cgroup.procs", "1\n"+strconv.Itoa(os.Getpid())+"\n")
	if err := divide(dir); err == nil || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Errorf("it has moved: %v", err)
	}
	if _, err := os.Stat(dir + "/" + ownGroup); err == nil {
		t.Error("a group was made")
	}
}
