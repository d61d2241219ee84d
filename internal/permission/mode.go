package permission

import "fmt"

// Mode says what happens without a person being asked.
type Mode string

// The modes. The zero value is Default.
const (
	// Default reads inside the working directories and runs read-only commands.
	Default Mode = "default"
	// AcceptEdits also edits files inside the working directories.
	AcceptEdits Mode = "acceptEdits"
	// Plan asks before everything that is not a read, whatever rules allow.
	Plan Mode = "plan"
	// DontAsk denies whatever would be asked.
	DontAsk Mode = "dontAsk"
	// Bypass allows everything but ask rules and critical removals.
	Bypass Mode = "bypassPermissions"
	// planDontAsk is what Plan and DontAsk have in common. It comes only from
	// Narrower.
	planDontAsk Mode = "plan+dontAsk"
)

// ParseMode reads a mode as people write it. "manual" is Default. "auto", which
// lets a second model judge elsewhere, is Default too: without a judge the
// person is asked. The empty string is Default.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "", "manual", "auto":
		return Default, nil
	case Default, AcceptEdits, Plan, DontAsk, Bypass, planDontAsk:
		return m, nil
	}
	return "", fmt.Errorf("unknown permission mode %q; use default, acceptEdits, plan, dontAsk or bypassPermissions", s)
}

// Narrower returns the strongest mode that has no more power than a and than b:
// what a child gets from its parent's mode and its definition's. It is
// commutative and associative. An unknown mode counts as DontAsk.
func Narrower(a, b Mode) Mode {
	a, b = known(a), known(b)
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

func known(m Mode) Mode {
	m, err := ParseMode(string(m))
	if err != nil {
		return DontAsk
	}
	return m
}

// power orders the modes. Plan and DontAsk cannot be compared: one asks where
// the other denies, and the other follows rules where the one asks.
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

func (m Mode) plans() bool    { return m == Plan || m == planDontAsk }
func (m Mode) neverAsk() bool { return m == DontAsk || m == planDontAsk }
