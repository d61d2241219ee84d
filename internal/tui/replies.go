package tui

import (
	"strings"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// replies is the set of agents besides the lead that the user has written to. Their
// answers are shown until their turn ends.
type replies map[mailbox.AgentID]bool

// of returns the text to show for an event, or "".
func (r replies) of(e event.Event) string {
	switch f := e.Fact.(type) {
	case event.MailSent:
		if e.Agent.ID == user && f.Envelope.To.Agent != Lead {
			r[f.Envelope.To.Agent] = true
		}
	case event.Answered:
		if text := strings.TrimSpace(f.Answer.Text()); r[e.Agent.ID] && text != "" {
			return e.Agent.Name + ": " + strings.ReplaceAll(text, "\n", "\n  ")
		}
	case event.TurnEnded:
		delete(r, e.Agent.ID)
	}
	return ""
}
