package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
)

// checker makes the checks.
type checker struct{ *cli.Console }

// New returns the command doctor.
func New(console *cli.Console) *cobra.Command {
	a := &checker{console}
	var dir string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what swarm needs on this machine",
		Long: `Doctor looks at the programs, what the kernel can hold commands to, the state
directory, the credentials (never at the keys themselves), the agent definitions
and the kept sessions of the directory. It starts nothing and asks no model. The
exit status is 1 if something fails.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 0, "swarm doctor"); err != nil {
				return err
			}
			return a.doctor(c.Context(), dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the `directory` to check (default: the working directory)")
	return c
}

// grade is the severity of a finding.
type grade int

const (
	ok grade = iota
	warn
	fail
)

func (g grade) String() string { return [...]string{"ok", "warn", "fail"}[g] }

// finding is one line of doctor.
type finding struct {
	grade grade
	about string
	text  string
}

func findingf(g grade, about, format string, args ...any) finding {
	return finding{g, about, fmt.Sprintf(format, args...)}
}

// findingText wraps long lines on a terminal; programs get one line for each finding.
func (a *checker) findingText(f finding) string {
	head := fmt.Sprintf("%-4s  %-11s ", f.grade, f.about)
	text := term.Clean(cli.OneLine(f.text))
	if n, terminal := term.Columns(a.Out); terminal && n > 0 {
		text = strings.Join(term.Wrap(text, max(20, n-len(head)), view.MaxLines), "\n"+strings.Repeat(" ", len(head)))
	}
	return head + text + "\n"
}

// doctor makes all checks, even after one has failed.
func (a *checker) doctor(ctx context.Context, dir string) error {
	failed := 0
	for _, check := range []func(context.Context, string) []finding{
		a.checkPrograms, a.checkSandbox, a.checkState, a.checkModel, a.checkDefinitions, a.checkTrust, a.checkSettings, a.checkSessions, a.checkSockets,
	} {
		for _, f := range check(ctx, dir) {
			if f.grade == fail {
				failed++
			}
			if err := a.Print(a.findingText(f)); err != nil {
				return err
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s failed", view.Plural(failed, "check"))
	}
	return nil
}
