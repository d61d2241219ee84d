package main

import (
	"cmp"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/spf13/cobra"
)

// sessionFlags say which session a command is about: --session, and --dir for the
// sessions of another directory.
type sessionFlags struct{ dir, session string }

// What a command is about that names no session.
const (
	running         = "the one that runs"
	runningOrNewest = running + ", or the newest"
)

func (f *sessionFlags) add(c *cobra.Command, without string) {
	c.Flags().StringVar(&f.session, "session", "", "the session's `id` (default: "+without+")")
	c.Flags().StringVar(&f.dir, "dir", "", "the `directory` whose session is meant (default: the working directory)")
}

// take lets the only argument of a command name the session, as --session does.
func (f *sessionFlags) take(args []string, use string) error {
	if err := cli.NoMoreArgs(args, 1, use); err != nil {
		return err
	}
	if len(args) > 0 && f.session != "" {
		return cli.Usagef("%s and --session %s name a session each; give one of them", args[0], f.session)
	}
	f.session = cmp.Or(f.session, cli.Arg(args, 0))
	return nil
}

func (f *sessionFlags) choose(a *app) (swarm.Info, error) { return a.choose(f.dir, f.session) }
