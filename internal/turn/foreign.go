package turn

import (
	"encoding/json"

	"github.com/actorswarm/swarm/mailbox"
)

// ForbiddenError reports content that only an attempt at deception contains.
type ForbiddenError struct{ Reason string }

func (e *ForbiddenError) Error() string { return e.Reason }

// CheckForeign checks the message of a program or of another session and returns a
// *ForbiddenError if it imitates the runtime.
func CheckForeign(text, summary string) error {
	switch {
	case Forges(text) || Forges(summary):
		return &ForbiddenError{"the message holds a tag that only the runtime writes"}
	case isProtocol(text):
		return &ForbiddenError{"the message has the form of one of the runtime's; who is not of the session sends texts"}
	}
	return nil
}

// isProtocol reports whether a text is the body of a structured message, such as an
// approval. Sent as text it would have no effect, so that it is an error or an attack.
func isProtocol(text string) bool {
	var head struct {
		Type mailbox.Kind `json:"type"`
		Kind mailbox.Kind `json:"kind"`
	}
	if json.Unmarshal([]byte(text), &head) != nil {
		return false
	}
	return structured(head.Type) || structured(head.Kind)
}

func structured(k mailbox.Kind) bool {
	return k.Valid() && k != mailbox.KindText && k != mailbox.KindBroadcast
}
