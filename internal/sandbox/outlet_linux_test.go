package sandbox

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNothingButTheOutletLeadsOut: a command with an outlet reaches what listens there, and
// neither servers of the machine nor sockets of another kind.
func TestNothingButTheOutletLeadsOut(t *testing.T) {
	tcp := listen(t, "tcp", "127.0.0.1:0")
	socket := filepath.Join(t.TempDir(), "s")
	listen(t, "unix", socket)
	out := "127.0.0.1:" + strconv.Itoa(outletPort)
	tried := 0
	for machine, m := range machines(t) {
		if m.Networks() != nil {
			continue
		}
		tried++
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			p := l.profile(Edit)
			p.Outlet = true
			for script, want := range map[string]int{
				"TAKEN=1 " + acts("tcp", out): 1, acts("tcp", tcp): 0, acts("unix", socket): 0, acts("listen", ""): 0,
				acts("socket", strconv.Itoa(unix.AF_PACKET)): 0, acts("socket", strconv.Itoa(unix.AF_NETLINK)): 0,
			} {
				said, arrived := l.withOutlet(t, m, p, script)
				if could := strings.Contains("\n"+said, "\ncould\n"); could != (want == 1 || strings.Contains(script, "listen")) || arrived != want {
					t.Errorf("%s: %s, and %d connections arrived", script, said, arrived)
				}
			}
			said, _ := l.withOutlet(t, m, p, `echo $HTTPS_PROXY`)
			if said != "http://"+out+"\n" {
				t.Errorf("the environment names the proxy %q", said)
			}
		})
	}
	if tried == 0 {
		t.Skipf("no network of its own: %v", Probe().Networks())
	}
}

// withOutlet runs a script and returns its output and how many connections came out.
func (l *lab) withOutlet(t *testing.T, m Machine, p Profile, script string) (said string, arrived int) {
	t.Helper()
	cmd := l.in(script)
	var b strings.Builder
	cmd.Stdout = &b
	proc, err := m.Start(cmd, p)
	if err != nil {
		t.Fatal(err)
	}
	counted := make(chan int)
	go func() {
		n := 0
		for {
			c, err := proc.Outlet().Accept()
			if err != nil {
				counted <- n
				return
			}
			n++
			_ = c.Close() // the count is what matters
		}
	}()
	_ = proc.Wait() // how it ends is in its output
	if err := proc.Outlet().Close(); err != nil {
		t.Error(err)
	}
	arrived = <-counted
	if err := proc.Close(); err != nil {
		t.Error(err)
	}
	return b.String(), arrived
}
