package sandbox

import (
	"errors"
	"strings"
	"testing"
)

func TestContainsNeedsAKernelThatKnowsAll(t *testing.T) {
	for _, x := range []struct {
		m    Machine
		want bool
	}{
		{Machine{}, false},
		{Machine{Landlock: 3, Seccomp: true}, true},
		{Machine{Landlock: 7, Seccomp: true}, true},
		{Machine{Landlock: 2, Seccomp: true}, false},
		{Machine{Landlock: 3}, false},
		{Machine{Seatbelt: "/usr/bin/sandbox-exec"}, false},
	} {
		if got := x.m.Contains(); got != x.want {
			t.Errorf("%+v: %v", x.m, got)
		}
	}
}

// TestWhatHoldsTotalsIsExplained: both texts about a profile say which of the two it is.
func TestWhatHoldsTotalsIsExplained(t *testing.T) {
	p := Profile{Name: Inspect, Totals: Totals{Processes: 7}}
	for want, m := range map[string]Machine{
		"held by the kernel, in a control group for each command below /g": {Landlock: 7, Seccomp: true, Groups: "/g"},
		"measured four times a second, without a control group: no":        {Landlock: 7, Seccomp: true, Ungrouped: "no"},
	} {
		var long, short strings.Builder
		if err := errors.Join(p.Explain(&long, m), p.Summarize(&short, m)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(long.String(), want) || !strings.Contains(short.String(), want) {
			t.Errorf("%q is not in %s%s", want, &long, &short)
		}
	}
}
