package agent

import (
	"cmp"
	"fmt"
	"time"
)

// Deadlines bound how long an agent may make no progress. In each field 0 is the default
// and a negative duration disables the deadline.
type Deadlines struct {
	// Start is the time from sending a request to the first piece of its answer, over
	// all attempts; 0 = 5 min. A model that hides its thinking is silent for minutes.
	Start time.Duration `json:"start,omitempty"`
	// Gap is the time between two pieces of an answer; 0 = 5 min, which allows for
	// one silent connection that is replaced after 2 min.
	Gap time.Duration `json:"gap,omitempty"`
	// Tool is the time of one tool call; 0 = 15 min, since a command may take 10.
	// Calls that wait for agents have no deadline, as those agents have their own;
	// neither has a question to a person.
	Tool time.Duration `json:"tool,omitempty"`
	// Run is the time of a turn from when it may run, with all its waits but those for
	// a person; 0 = 2 h, and none for the lead, whose turn lasts as long as the work
	// of its team.
	Run time.Duration `json:"run,omitempty"`
}

// Or returns d with its zero fields taken from other.
func (d Deadlines) Or(other Deadlines) Deadlines {
	return Deadlines{
		Start: cmp.Or(d.Start, other.Start), Gap: cmp.Or(d.Gap, other.Gap),
		Tool: cmp.Or(d.Tool, other.Tool), Run: cmp.Or(d.Run, other.Run),
	}
}

// For returns the deadlines of an agent in a role, where 0 or less means none.
func (d Deadlines) For(r Role) Deadlines {
	if r == Lead {
		d.Run = cmp.Or(d.Run, -1)
	}
	return d.Or(Deadlines{Start: 5 * time.Minute, Gap: 5 * time.Minute, Tool: 15 * time.Minute, Run: 2 * time.Hour})
}

// ParseDeadline parses a deadline such as 90s, 5m, 2h, or off.
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
