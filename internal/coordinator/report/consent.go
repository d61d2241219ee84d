package report

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/transcript"
)

// Expired is the text for a question whose time for an answer is over.
func Expired(c transcript.Consent) string {
	return fmt.Sprintf("the question expired: nobody answered within %v", c.Expires.Sub(c.Asked).Round(time.Millisecond))
}
