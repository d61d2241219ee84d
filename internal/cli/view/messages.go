package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
)

// Inbox formats one line for each message.
func Inbox(scr cli.Screen, all []swarm.Trace) string {
	var b strings.Builder
	width := scr.Width()
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
		line := fmt.Sprintf("%s  %-7s  %s  %s from %s%s: %s", clockTime(e.Sent), state, e.ID, e.Kind, AgentName(e.From.Agent, e.FromName), size, strings.Join(strings.Fields(text), " "))
		b.WriteString(term.Cut(term.Clean(line), width) + "\n")
	}
	return b.String()
}

// History formats messages with their states and, if there are several, the number of
// each state.
func History(info swarm.Info, all []swarm.Trace) string {
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
	return b.String()
}

// clockTime formats the time of day, or blanks for an unknown time.
func clockTime(t time.Time) string {
	if t.IsZero() {
		return "        "
	}
	return t.Local().Format(time.TimeOnly)
}

func messageText(info swarm.Info, m swarm.Trace) string {
	e := m.Envelope
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s (%s) from %s to %s\n", e.ID, e.Kind, e.EffectiveClass(), term.Clean(AgentName(e.From.Agent, e.FromName)), term.Clean(AgentName(e.To.Agent, e.ToName)))
	for _, s := range m.Steps {
		line := fmt.Sprintf("  %s  %s", clockTime(s.Time), s.State)
		if s.Reason != "" {
			line += "  " + term.Clean(s.Reason)
		}
		b.WriteString(line + "\n")
	}
	if e.Ref != "" {
		fmt.Fprintf(&b, "  stored apart: %s, on the session's server as %s\n", e.Ref, swarm.ObjectName(info.ID, e.Ref))
	}
	for line := range strings.Lines(strings.TrimSuffix(e.Body, "\n") + "\n") {
		b.WriteString("    " + term.Clean(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
