package cli

import (
	"errors"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/spf13/pflag"
)

// DeadlineFlags are the flags for an agent's deadlines.
type DeadlineFlags struct{ agent.Deadlines }

func (f *DeadlineFlags) Add(fs *pflag.FlagSet) {
	for _, d := range []struct {
		name, usage string
		into        *time.Duration
	}{
		{"start-timeout", "the longest `time` from a model request to its first token, or off (default: 5m)", &f.Start},
		{"gap-timeout", "the longest `time` between two pieces of an answer, or off (default: 5m)", &f.Gap},
		{"tool-timeout", "the longest `time` of a tool call, or off (default: 15m)", &f.Tool},
		{"run-timeout", "the longest `time` of an agent's turn, or off (default: 2h, the lead's: off)", &f.Run},
	} {
		fs.Var(deadlineValue{d.into}, d.name, d.usage)
	}
}

// deadlineValue parses one of them.
type deadlineValue struct{ into *time.Duration }

func (v deadlineValue) Set(text string) error {
	d, err := agent.ParseDeadline(text)
	if err != nil {
		return errors.New("give a time such as 90s, 5m or 2h, or off for no limit")
	}
	*v.into = d
	return nil
}

func (deadlineValue) Type() string   { return "time" }
func (deadlineValue) String() string { return "" }
