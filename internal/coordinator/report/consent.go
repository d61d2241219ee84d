package report

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
)

// Expired is the text for a question whose time for an answer is over.
func Expired(c transcript.Consent) string {
	return fmt.Sprintf("the question expired: nobody answered within %v", c.Expires.Sub(c.Asked).Round(time.Millisecond))
}

// Unasked turns a question into a refusal with the way to allow the call.
func Unasked(d permission.Decision) permission.Decision {
	d.Behavior = permission.Deny
	d.Reason += ", and nobody can be asked here; " + d.WayOut()
	return d
}

// Verdict returns the verdict that follows from a recorded decision.
func Verdict(c transcript.Consent) turn.Verdict {
	v := turn.Verdict{By: c.By, Note: c.Note}
	switch c.State {
	case transcript.ConsentAllowed:
		v.Decision = permission.Decision{Behavior: permission.Allow, Rule: "answer of the " + c.By}
	case transcript.ConsentExpired:
		v.Decision = permission.Decision{Rule: "expired", Reason: Expired(c)}
	default:
		v.Decision = permission.Decision{Rule: "answer of the " + c.By, Reason: "denied by the " + c.By}
	}
	return v
}

// ConsentOf returns what an answer means for its call.
func ConsentOf(allowed bool) transcript.ConsentState {
	if allowed {
		return transcript.ConsentAllowed
	}
	return transcript.ConsentDenied
}
