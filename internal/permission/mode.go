package permission

import "fmt"

// Mode is what is allowed without a rule, and whether a person is asked.
type Mode string

// The modes. The zero value is Default.
const (
	// Default reads inside the working directories and runs read-only commands.
	Default Mode = "default"
	// AcceptEdits also edits files inside the working directories.
	AcceptEdits Mode = "acceptEdits"
	// Plan asks before everything that is not a read, even if a rule allows it.
	Plan Mode = "plan"
	// DontAsk denies where other modes would ask.
	DontAsk Mode = "dontAsk"
	// Bypass allows everything but ask rules and critical removals.
	Bypass Mode = "bypassPermissions"
	// planDontAsk is what Plan and DontAsk have in common. It comes only from
	// Narrower.
	planDontAsk Mode = "plan+dontAsk"
)

// ParseMode parses the name of a mode. The empty string and "manual" are Default.
// "auto", with which another program asks a second model, is Default too: here a
// person is asked.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "", "manual", "auto":
		return Default, nil
	case Default, AcceptEdits, Plan, DontAsk, Bypass, planDontAsk:
		return m, nil
	}
	return "", fmt.Errorf("unknown permission mode %q; use default, acceptEdits, plan, dontAsk or bypassPermissions", s)
}

// Narrower returns the most powerful mode that has no more power than a and no more
// than b. A child runs in the narrower of its parent's mode and its definition's.
// Narrower is commutative and associative. An unknown mode counts as DontAsk.
func Narrower(a, b Mode) Mode {
	a, b = validMode(a), validMode(b)
	switch {
	case a == b:
		return a
	case power(a) == 0 && power(b) == 0:
		return planDontAsk
	case power(a) < power(b):
		return a
	}
	return b
}

func validMode(m Mode) Mode {
	m, err := ParseMode(string(m))
	if err != nil {
		return DontAsk
	}
	return m
}

// power orders the modes. Plan and DontAsk have the same rank, because neither has
// less power: Plan asks where DontAsk denies, and asks where DontAsk follows rules.
func power(m Mode) int {
	switch m {
	case Bypass:
		return 3
	case AcceptEdits:
		return 2
	case Default:
		return 1
	case planDontAsk:
		return -1
	}
	return 0
}

func (m Mode) plans() bool     { return m == Plan || m == planDontAsk }
func (m Mode) neverAsks() bool { return m == DontAsk || m == planDontAsk }
