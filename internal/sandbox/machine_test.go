package sandbox

import "testing"

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
