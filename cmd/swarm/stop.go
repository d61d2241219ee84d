package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/term"
)

// verb is a command that does one thing to one agent of a running session.
type verb struct {
	use, short, long string
	do               func(*swarm.Remote, context.Context, string) error
	done             string // how the output describes the agent afterwards
	ends             bool   // the output also lists the agents that worked for it
	// tree does it to the agent and all that work for it; nil: it cannot.
	tree func(*swarm.Remote, context.Context, string) ([]swarm.Ended, error)
}

func newStop(a *app) *cobra.Command {
	return a.verb(verb{
		use: "stop", short: "Stop an agent of a running session",
		long: `Stop ends what an agent does at once, with the command it may be running; the
others go on. When it returns nothing of the agent runs any more. A message
wakes the agent again, with all that it knew. With --tree all that work for the
agent are stopped too, and what became of each is listed.`,
		do: (*swarm.Remote).Stop, done: "has stopped", ends: true, tree: (*swarm.Remote).StopTree,
	})
}

func newInterrupt(a *app) *cobra.Command {
	return a.verb(verb{
		use: "interrupt", short: "End the turn of one agent of a running session",
		long: `Interrupt ends the turn that an agent is in, with the command it may be running
and the foreground agents that it waits for. All others go on, and so does the
agent with the next message that it gets.`,
		do: func(r *swarm.Remote, ctx context.Context, name string) error {
			cut, err := r.Interrupt(ctx, name)
			if err == nil && !cut {
				err = fmt.Errorf("%s is in no turn", term.Clean(name))
			}
			return err
		},
		done: "has been interrupted",
	})
}

func newKill(a *app) *cobra.Command {
	return a.verb(verb{
		use: "kill", short: "End an agent of a running session for good",
		long: `Kill ends an agent like stop does, and nothing wakes it again. Its transcript
and its result stay. With --tree all that work for it are killed too.`,
		do: (*swarm.Remote).Kill, done: "has ended", ends: true, tree: (*swarm.Remote).KillTree,
	})
}

func newBg(a *app) *cobra.Command {
	return a.verb(verb{
		use: "bg", short: "Let a foreground agent go on in the background",
		long: `Bg lets an agent that another agent waits for go on in the background: who
waited goes on at once, and is told of the end by message. Nothing of the
agent's work is lost.`,
		do: (*swarm.Remote).Background, done: "goes on in the background",
	})
}

func newCompact(a *app) *cobra.Command {
	return a.verb(verb{
		use: "compact", short: "Make an agent summarise its conversation",
		long: `Compact replaces the older part of an agent's conversation by a summary that its
model makes: an agent at work at its next step, one that rests at once. Agents
do so by themselves when the context window fills. The record keeps the whole
(swarm logs), and who is there, open tasks and unread mail are told afresh.`,
		do: (*swarm.Remote).Compact, done: "has been compacted",
	})
}

func (a *app) verb(v verb) *cobra.Command {
	var of cli.SessionFlags
	var tree bool
	c := &cobra.Command{
		Use: v.use + " NAME", Short: v.short, Long: v.long,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one agent to %s: swarm %s NAME", v.use, v.use)
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			r, err := a.Sessions().Dial(info)
			if err != nil {
				return err
			}
			defer r.Close()
			if tree {
				return endTree(&a.Console, r, c.Context(), v, args[0])
			}
			left := ""
			if v.ends {
				if left, err = endEffects(c.Context(), r, args[0]); err != nil {
					return err
				}
			}
			if err := v.do(r, c.Context(), args[0]); err != nil {
				return err
			}
			return a.Print(fmt.Sprintf("%s %s\n%s", term.Clean(args[0]), v.done, left))
		},
	}
	if v.tree != nil {
		c.Flags().BoolVar(&tree, "tree", false, "also all that work for the agent")
	}
	of.Add(c, cli.RunningOnly)
	return c
}

// endTree ends an agent and all agents below it, and prints them.
func endTree(con *cli.Console, r *swarm.Remote, ctx context.Context, v verb, name string) error {
	ended, err := v.tree(r, ctx, name)
	if len(ended) > 0 {
		head := fmt.Sprintf("%s %s, %d agents in all\n", term.Clean(name), v.done, len(ended))
		if err != nil {
			head = fmt.Sprintf("%s: %d agents in all\n", term.Clean(name), len(ended))
		}
		if printed := con.Print(head); printed != nil {
			return printed
		}
		if printed := printEnded(con.Out, ended); printed != nil {
			return printed
		}
	}
	return err
}

// endEffects returns a line for each agent at work below one that ends, with what
// happens to it.
func endEffects(ctx context.Context, r *swarm.Remote, name string) (string, error) {
	all, err := r.Agents(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, s := range all {
		if spec := s.Record.Spec; !strings.EqualFold(name, spec.Name) && name != string(spec.ID) {
			continue
		}
		for _, o := range status.Orphans(all, s.Record.Spec.ID) {
			text.WriteString(term.Clean(o.String()) + "\n")
		}
	}
	return text.String(), nil
}
