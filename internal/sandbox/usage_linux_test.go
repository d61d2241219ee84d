package sandbox

import (
	"strings"
	"testing"
	"time"
)

// TestACommandBeyondItsTotalsIsNamed, by what it is, however its processes try to leave it.
func TestACommandBeyondItsTotalsIsNamed(t *testing.T) {
	if !Probe().Scopes {
		t.Skipf("the kernel cannot: %v", Probe().Missing)
	}
	for script, c := range map[string]struct {
		limits Totals
		want   string
	}{
		`for i in 1 2 3 4 5 6; do (exec /bin/sleep 600 & ) ; done; echo; wait; exec /bin/sleep 600`: {Totals{Processes: 5}, "processes, more than 5; processes in sandbox.limits"},
		`x=$(printf '%9000000s' x); (echo; exec 1>&2; while :; do /bin/sleep 1; done)`:              {Totals{Memory: 4 << 20}, "MiB of memory together, more than 4; totalMemoryMB"},
		`echo; exec /bin/sleep 600`: {Totals{Processes: 5, Memory: 1 << 30}, ""},
	} {
		l := newLab(t)
		p := l.profile(Open)
		p.Totals = c.limits
		cmd := l.in(script)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		proc, err := Start(cmd, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		got := proc.exceeds()
		for start := time.Now(); got == "" && c.want != "" && time.Since(start) < 20*time.Second; got = proc.exceeds() {
			<-time.After(time.Millisecond)
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", script, got, c.want)
		}
		if _, err := proc.KillAll(); err != nil {
			t.Error(err)
		}
		_ = proc.Wait() // it was killed
		if err := proc.Close(); err != nil {
			t.Error(err)
		}
	}
}
