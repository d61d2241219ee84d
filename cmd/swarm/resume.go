package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/spf13/cobra"
)

func newResume(a *app) *cobra.Command {
	flags := &runFlags{}
	c := &cobra.Command{
		Use:   "resume [ID [PROMPT…]]",
		Short: "Go on with a session",
		Long: `Resume goes on where a crash, a shutdown or Ctrl-C cut a session: agents come
back under their names, and no finished model call or tool call is done again.
Without an id it takes the newest session of the directory.

On a terminal it shows what was said last and you talk with the session. With a
prompt, with --print, or without a terminal it does what is left to do, the
prompt first, and prints the answer.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.check(c); err != nil {
				return err
			}
			id, words := "", args
			if len(args) > 0 {
				id, words = args[0], args[1:]
			}
			info, err := a.Sessions().Find(flags.dir, id)
			if errors.As(err, new(*swarm.NoSessionError)) && len(words) > 0 {
				return fmt.Errorf("%w; to give a prompt to the newest session: swarm run --continue %q", err, strings.Join(args, " "))
			}
			if err != nil {
				return err
			}
			flags.resume = info.ID
			opts, err := flags.options(a)
			if err != nil {
				return err
			}
			if len(words) == 0 && !flags.print && flags.show.format == "text" && a.OnTerminal() {
				return a.runInteractive(c.Context(), opts)
			}
			_, err = a.work(c.Context(), job{opts: opts, prompt: strings.TrimSpace(strings.Join(words, " ")), show: flags.show})
			return err
		},
	}
	c.Flags().BoolVarP(&flags.print, "print", "p", false, "do what is left to do and print the answer, also on a terminal")
	flags.bus(c.Flags())
	flags.addCommon(c)
	return c
}
