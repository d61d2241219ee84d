package sandbox

import (
	"fmt"
	"strings"
	"sync"
)

// Machine is what a machine can enforce. Its zero value can enforce nothing.
type Machine struct {
	Landlock int    // its ABI; 0 is none
	Scopes   bool   // signals and abstract sockets end at the command
	Seccomp  bool   // system calls can be refused
	Launcher bool   // what prepares a command from within can run: it can be bounded
	Mounts   bool   // a command can be given mounts of its own
	Users    bool   // it can, in a user namespace
	Bwrap    string // a program that can where neither works; "" is none
	Seatbelt string // sandbox-exec of macOS; "" is none
	// Groups is a control group in which each command gets one of its own, with its totals;
	// "" is none, and then its processes are measured. Ungrouped says why.
	Groups, Ungrouped string
	// Missing has a sentence for each thing that is not there, with the reason.
	Missing []string
}

// Probe returns what this machine can enforce. It checks once.
func Probe() Machine { return probed() }

var probed = sync.OnceValue(probe)

// UnenforcedError reports a profile that a machine cannot enforce.
type UnenforcedError struct {
	Profile Name
	Missing []string
}

func (e *UnenforcedError) Error() string {
	why := strings.Join(e.Missing, "; ")
	if why == "" {
		why = "it has no sandbox"
	}
	return fmt.Sprintf("this machine cannot enforce the profile %s: %s", e.Profile, why)
}

// Enforces returns nil if the machine can enforce a profile, or *UnenforcedError.
func (m Machine) Enforces(n Name) error {
	enough := m.Landlock > 0 && m.Seccomp
	switch n {
	case Edit:
		enough = enough && m.mounts()
	case Open:
		enough = m.Seccomp && (m.Landlock > 0 || m.mounts())
	}
	enough = enough || m.Seatbelt != ""
	if enough {
		return nil
	}
	return &UnenforcedError{n, m.Missing}
}

// Contains reports whether Inspect holds a program whatever it does. The sandbox of macOS
// does not: a program may ask services to act for it; nor does Landlock before its third
// ABI, which lets files be truncated.
func (m Machine) Contains() bool { return m.Enforces(Inspect) == nil && m.Landlock >= 3 }

// mounts reports that names can be hidden and fixed below what is otherwise open.
func (m Machine) mounts() bool { return m.Mounts || m.Users || m.Bwrap != "" }

// String returns a line with what the machine uses.
func (m Machine) String() string {
	var has []string
	add := func(ok bool, what string) {
		if ok {
			has = append(has, what)
		}
	}
	add(m.Landlock > 0, fmt.Sprintf("Landlock ABI %d", m.Landlock))
	add(m.Scopes, "signal scopes")
	add(m.Seccomp, "seccomp")
	add(m.Mounts, "mount namespaces")
	add(m.Users, "mounts in user namespaces")
	add(m.Bwrap != "", "bwrap ("+m.Bwrap+")")
	add(m.Seatbelt != "", "sandbox-exec")
	add(m.Groups != "", "control groups")
	if len(has) == 0 {
		return "nothing"
	}
	return strings.Join(has, ", ")
}
