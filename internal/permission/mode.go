package permission

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/internal/spelling"
)

// Mode is what is allowed without a rule, and whether a person is asked.
type Mode string

// The modes. The zero value is Default.
const (
	// Default reads inside the working directories and runs read-only commands.
	Default Mode = "default"
	// AcceptEdits also edits files inside the working directories.
	AcceptEdits Mode = "acceptEdits"
	// Auto is AcceptEdits where a model is asked before a person, and without rules that
	// allow nearly anything.
	Auto Mode = "auto"
	// Plan asks before everything that is not a read, even if a rule allows it.
	Plan Mode = "plan"
	// DontAsk denies where other modes would ask.
	DontAsk Mode = "dontAsk"
	// Bypass allows everything but ask rules and critical removals.
	Bypass Mode = "bypassPermissions"
	// planDontAsk is what Plan and DontAsk have in common. It comes only from
	// Narrower.
	planDontAsk Mode = "plan+dontAsk"
	// withAuto before another mode is what that mode and Auto have in common: the rules
	// that Auto sets aside do not apply, and agents and messages are judged. It comes only
	// from Narrower.
	withAuto = "auto+"
)

// ParseMode parses the name of a mode. The empty string and "manual" are Default.
func ParseMode(s string) (Mode, error) {
	name, judged := strings.CutPrefix(s, withAuto)
	switch m := Mode(name); m {
	case "", "manual":
		if !judged {
			return Default, nil
		}
	case Default, AcceptEdits, Plan, DontAsk, planDontAsk:
		return Mode(s), nil
	case Auto, Bypass:
		if !judged {
			return m, nil
		}
	}
	known := []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"}
	return "", fmt.Errorf("unknown permission mode %q; use default, acceptEdits, plan, auto, dontAsk or bypassPermissions%s", s, spelling.DidYouMean(s, "", known))
}

// Judged reports whether a model is asked about calls in the mode.
func (m Mode) Judged() bool { return m == Auto || strings.HasPrefix(string(m), withAuto) }

// WithoutAuto returns the mode for a session in which no model may be asked.
func (m Mode) WithoutAuto() Mode {
	if m == Auto {
		return Default
	}
	return Mode(strings.TrimPrefix(string(m), withAuto))
}

// Narrower returns the most powerful mode that has no more power than a and no more
// than b. A child runs in the narrower of its parent's mode and its definition's.
// Narrower is commutative and associative. An unknown mode counts as DontAsk.
func Narrower(a, b Mode) Mode {
	a, b = validMode(a), validMode(b)
	switch {
	case a == b, b == Bypass:
		return a
	case a == Bypass:
		return b
	case a.Judged() || b.Judged():
		return withAuto + narrowerOf(a.unjudged(), b.unjudged())
	}
	return narrowerOf(a, b)
}

// unjudged returns what the mode allows without a model and with all rules.
func (m Mode) unjudged() Mode {
	if m == Auto {
		return AcceptEdits
	}
	return m.WithoutAuto()
}

// narrowerOf is Narrower for modes in which no model is asked.
func narrowerOf(a, b Mode) Mode {
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

// power orders the modes but Bypass. Plan and DontAsk have the same rank, because neither has
// less power: Plan asks where DontAsk denies, and asks where DontAsk follows rules.
func power(m Mode) int {
	switch m {
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
