package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/spf13/pflag"
)

// BudgetFlags are the limits of what a session, or each child with all below it,
// may use.
type BudgetFlags struct{ All, Child swarm.Limits }

func (f *BudgetFlags) Add(fs *pflag.FlagSet) {
	fs.Var((*moneyFlag)(&f.All.Money), "max-budget-usd", "at most so much `money`, in dollars, of all agents together; what would cost more is not sent")
	fs.Var((*countFlag)(&f.All.Tokens), "max-tokens-total", "at most this `number` of tokens of all agents together, such as 200k or 2M")
	fs.Var((*countFlag)(&f.All.Requests), "max-requests", "at most this `number` of model requests of all agents together")
	fs.Var((*timeFlag)(&f.All.Time), "max-time", "at most this `time` of work, such as 30m")
	f.AddChild(fs)
}

// AddChild adds the limits of each child alone.
func (f *BudgetFlags) AddChild(fs *pflag.FlagSet) {
	fs.Var((*moneyFlag)(&f.Child.Money), "max-child-budget-usd", "at most so much `money`, in dollars, of each child and all below it")
	fs.Var((*countFlag)(&f.Child.Tokens), "max-child-tokens", "at most this `number` of tokens of each child and all below it")
}

type moneyFlag swarm.USD

func (m *moneyFlag) Type() string { return "money" }

func (m *moneyFlag) String() string {
	if *m == 0 {
		return ""
	}
	return swarm.USD(*m).String()
}

func (m *moneyFlag) Set(text string) error {
	n, err := swarm.ParseUSD(text)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q is no budget; give dollars such as 2.50", text)
	}
	*m = moneyFlag(n)
	return err
}

// countFlag is a number that may end in k or M.
type countFlag int64

func (c *countFlag) Type() string { return "number" }

func (c *countFlag) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*c), 10)
}

func (c *countFlag) Set(text string) error {
	number, unit := strings.ReplaceAll(text, "_", ""), int64(1)
	switch {
	case strings.HasSuffix(number, "k"):
		number, unit = strings.TrimSuffix(number, "k"), 1_000
	case strings.HasSuffix(number, "M"):
		number, unit = strings.TrimSuffix(number, "M"), 1_000_000
	}
	n, err := strconv.ParseInt(number, 10, 40)
	if err != nil || n < 1 {
		return fmt.Errorf("%q; give a whole number from 1 up, such as 200k or 2M", text)
	}
	*c = countFlag(n * unit)
	return nil
}

type timeFlag time.Duration

func (t *timeFlag) Type() string { return "time" }

func (t *timeFlag) String() string {
	if *t == 0 {
		return ""
	}
	return time.Duration(*t).String()
}

func (t *timeFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q; give a time such as 90s, 30m or 2h", text)
	}
	*t = timeFlag(d)
	return nil
}
