package agent

import (
	"cmp"
	"fmt"
	"time"
)

// Deadlines are for how long the work of an agent may stand still. In each
// field 0 is the default and a negative duration no deadline.
type Deadlines struct {
	// Start is the time from a request's leaving to the first piece of its
	// answer, over all its attempts; 0 = 5 min. A model that hides its thinking is
	// silent for minutes.
	Start time.Duration `json:"start,omitempty"`
	// Gap is the time between two pieces of an answer; 0 = 5 min, which leaves
	// room for one connection that went silent and was replaced after 2 min.
	Gap time.Duration `json:"gap,omitempty"`
	// Tool is the time of one tool call; 0 = 15 min, as a command may take 10.
	// Calls that wait for agents have none: those agents have their own. Nor has
	// a question to a person.
	Tool time.Duration `json:"tool,omitempty"`
	// Run is the time of a turn from when it has a place among the running, with
	// all its waits but those for a person; 0 = 2 h, and none for the lead, whose
	// turn lasts as long as the work of its team.
	Run time.Duration `json:"run,omitempty"`
}

// Or returns d with what it leaves to the defaults taken from other.
func (d Deadlines) Or(other Deadlines) Deadlines {
	return Deadlines{
		Start: cmp.Or(d.Start, other.Start), Gap: cmp.Or(d.Gap, other.Gap),
		Tool: cmp.Or(d.Tool, other.Tool), Run: cmp.Or(d.Run, other.Run),
	}
}

// For returns the deadlines of an agent in a role; what is not positive is none.
func (d Deadlines) For(r Role) Deadlines {
	if r == Lead {
		d.Run = cmp.Or(d.Run, -1)
	}
	return d.Or(Deadlines{Start: 5 * time.Minute, Gap: 5 * time.Minute, Tool: 15 * time.Minute, Run: 2 * time.Hour})
}

// ParseDeadline reads a deadline as people write it: 90s, 5m, 2h, or off.
func ParseDeadline(text string) (time.Duration, error) {
	if text == "off" {
		return -1, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q; give a time such as 90s, 5m or 2h, or off for no limit", text)
	}
	return d, nil
}
