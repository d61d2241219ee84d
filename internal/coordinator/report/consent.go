package report

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/transcript"
)

// Expired says that the time for the answer to a question has run out.
func Expired(c transcript.Consent) string {
	return fmt.Sprintf("the question expired: nobody answered within %v", c.Expires.Sub(c.Asked).Round(time.Millisecond))
}
