package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/spf13/cobra"
)

func newInbox(a *app) *cobra.Command {
	var of sessionFlags
	var format string
	c := &cobra.Command{
		Use:   "inbox [NAME]",
		Short: "Show the messages of an agent",
		Long: `Inbox shows the unread messages of an agent, the lead if none is named, and the
last that it has read: when each was sent, how far it has come, from whom. The
session may run or not.`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := cli.NoMoreArgs(args, 1, "swarm inbox [NAME]"); err != nil {
				return err
			}
			info, err := of.choose(a)
			if err != nil {
				return err
			}
			name := cli.Arg(args, 0)
			if name == "" {
				name = "lead"
			}
			all, err := a.inbox(c.Context(), info, name)
			if err != nil {
				return err
			}
			return a.showInbox(name, all, format == "json")
		},
	}
	of.add(c, runningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func (a *app) inbox(ctx context.Context, info swarm.Info, name string) ([]swarm.Trace, error) {
	r, err := a.dial(info)
	switch {
	case err == nil:
		defer r.Close()
		return r.Inbox(ctx, name)
	case notRunning(err):
		return swarm.PeekInbox(ctx, info, name)
	}
	return nil, err
}

func (a *app) showInbox(name string, all []swarm.Trace, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []swarm.Trace{}
		}
		return a.PrintJSON(all)
	}
	if len(all) == 0 {
		a.Notef("%s has no messages", term.Clean(name))
		return nil
	}
	var b strings.Builder
	width := a.Screen().Width()
	for _, m := range all {
		e := m.Envelope
		text := e.Summary
		if text == "" {
			text = e.Body
		}
		state := string(m.State())
		if m.Unread() {
			state = "unread"
		}
		size := ""
		if e.Ref != "" {
			size = fmt.Sprintf(" (%d bytes)", e.Ref.Size())
		}
		line := fmt.Sprintf("%s  %-7s  %s  %s from %s%s: %s", clock(e.Sent), state, e.ID, e.Kind, shortName(e.From.Agent, e.FromName), size, strings.Join(strings.Fields(text), " "))
		b.WriteString(term.Cut(term.Clean(line), width) + "\n")
	}
	return a.Print(b.String())
}

func newMessage(a *app) *cobra.Command {
	var of sessionFlags
	var format string
	c := &cobra.Command{
		Use:   "message ID…",
		Short: "Show what became of a message",
		Long: `Message shows a message with each state that it has reached: accepted,
delivered, read, answered, or why it never will be. Of several it counts the
states too, which is the receipt of a message to everybody.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if len(args) == 0 {
				return cli.Usagef("name a message: swarm message ID")
			}
			info, err := of.choose(a)
			if err != nil {
				return err
			}
			return a.messages(c.Context(), info, args, format == "json")
		},
	}
	of.add(c, runningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func (a *app) messages(ctx context.Context, info swarm.Info, ids []string, asJSON bool) error {
	var all []swarm.Trace
	for _, id := range ids {
		m, err := a.message(ctx, info, mailbox.ID(id))
		if err == nil {
			m.Envelope.Body, err = swarm.WholeBody(info, m.Envelope)
		}
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	if asJSON {
		return a.PrintJSON(all)
	}
	var b strings.Builder
	count := map[mailbox.State]int{}
	for _, m := range all {
		count[m.State()]++
		b.WriteString(messageText(info, m))
	}
	if len(all) > 1 {
		for _, s := range []mailbox.State{mailbox.StateAccepted, mailbox.StateDelivered, mailbox.StateRead, mailbox.StateAnswered, mailbox.StateRejected, mailbox.StateExpired, mailbox.StateDead} {
			if count[s] > 0 {
				fmt.Fprintf(&b, "%d %s\n", count[s], s)
			}
		}
	}
	return a.Print(b.String())
}

func (a *app) message(ctx context.Context, info swarm.Info, id mailbox.ID) (swarm.Trace, error) {
	r, err := a.dial(info)
	switch {
	case err == nil:
		defer r.Close()
		return r.Message(ctx, id)
	case notRunning(err):
		return swarm.PeekMessage(ctx, info, id)
	}
	return swarm.Trace{}, err
}

// clock writes the time of day, or as many blanks for a time that was not noted.
func clock(t time.Time) string {
	if t.IsZero() {
		return "        "
	}
	return t.Local().Format(time.TimeOnly)
}

func messageText(info swarm.Info, m swarm.Trace) string {
	e := m.Envelope
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s (%s) from %s to %s\n", e.ID, e.Kind, e.ClassOf(), term.Clean(shortName(e.From.Agent, e.FromName)), term.Clean(shortName(e.To.Agent, e.ToName)))
	for _, s := range m.Steps {
		line := fmt.Sprintf("  %s  %s", clock(s.Time), s.State)
		if s.Reason != "" {
			line += "  " + term.Clean(s.Reason)
		}
		b.WriteString(line + "\n")
	}
	if e.Ref != "" {
		fmt.Fprintf(&b, "  kept apart: %s, on the session's server as %s\n", e.Ref, swarm.ObjectName(info.ID, e.Ref))
	}
	for line := range strings.Lines(strings.TrimSuffix(e.Body, "\n") + "\n") {
		b.WriteString("    " + term.Clean(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
