package report

import (
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// MaxBytes is the most of a result that travels in a message, in bytes; the
// whole of it is in the transcript.
const MaxBytes = 48 << 10

// Summary returns one line about the end of an agent's turn.
func Summary(l agent.Record) string {
	what := l.Spec.Description
	if what == "" {
		what = agent.DisplayName(l.Spec)
	}
	text := fmt.Sprintf("%s: %s", what, l.Outcome)
	if l.Reason != "" {
		text += " (" + l.Reason + ")"
	}
	return Cut(text, 180)
}

// Body returns the report of an agent: its last text, cut to MaxBytes.
func Body(l agent.Record) string {
	text := l.Result
	if text == "" {
		text = "(the agent ended without a text)"
	}
	isCut := len(text) > MaxBytes
	if isCut {
		text = Cut(text, MaxBytes) + fmt.Sprintf("\n(cut: %d of %d bytes; TaskOutput with task_id %s and offset %d gives the rest, swarm result %s all of it)",
			MaxBytes, len(l.Result), l.Spec.ID, MaxBytes, l.Spec.ID)
	}
	return text + verdictNote(l, isCut)
}

// Class returns the class of a report. An end that was asked for is ordinary mail.
func Class(l agent.Record) mailbox.Class {
	if l.Outcome == agent.Stopped || l.Outcome == agent.Interrupted {
		return mailbox.ClassMail
	}
	return ""
}

// Key returns the key under which a newer report of a teammate replaces this one.
// A result is never replaced: each answers something.
func Key(l agent.Record) string {
	if l.Outcome == agent.Completed {
		return ""
	}
	return "not done"
}
