package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/spf13/cobra"
)

func newSend(a *app) *cobra.Command {
	var of cli.SessionFlags
	var class string
	c := &cobra.Command{
		Use:   "send TO TEXT…",
		Short: "Write to an agent",
		Long: `Send writes to an agent by its name or id, or with "*" to all of them. When it
returns the message is on disk; the agent reads it at its next step, even in the
middle of its work. To an agent of a session that does not run, the message is
kept and read when the session goes on. The text may come from standard input.`,
		Example: `  swarm send security "look at auth.go too"
  go test ./... 2>&1 | swarm send tests`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("name the agent to write to: swarm send TO TEXT")
			}
			if !mailbox.Class(class).Valid() {
				return cli.Usagef("unknown --class %q; use steer, mail or control", class)
			}
			text, err := messageText(&a.Console, args[1:])
			if err != nil {
				return err
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			return send(c.Context(), &a.Console, info, args[0], text, mailbox.Class(class))
		},
	}
	c.Flags().StringVar(&class, "class", "", "the `class`: steer (read at the next step), mail (after the turn), control (at once)")
	of.Add(c, cli.RunningOrNewest)
	return c
}

// messageText returns the text in the arguments, or else standard input.
func messageText(con *cli.Console, words []string) (string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	if text == "" {
		var err error
		if text, err = con.ReadInput(); err != nil {
			return "", err
		}
	}
	if text == "" {
		return "", cli.Usagef("the message is empty; write it after the name: swarm send TO TEXT")
	}
	return text, nil
}

func send(ctx context.Context, con *cli.Console, info swarm.Info, to, text string, class mailbox.Class) error {
	s, running, err := con.Sessions().Open(info)
	if err != nil {
		return err
	}
	defer s.Close()
	posted, err := s.SendClass(ctx, to, text, class)
	failed := 0
	for _, p := range posted {
		if p.Err != nil {
			failed++
			con.Notef("not sent to %s: %v", p.Name, p.Err)
			continue
		}
		name := p.Name
		if name == "team-lead" {
			name = "lead"
		}
		if err := con.Print(fmt.Sprintf("queued for %s, id=%s\n", term.Clean(name), p.ID)); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case failed > 0:
		return &cli.ExitError{Code: cli.ExitFailed}
	case !running:
		con.Notef("session %s does not run; the message is read when it goes on: swarm resume %s", info.ID, info.ID)
	}
	return nil
}
