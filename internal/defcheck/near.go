package defcheck

import (
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/spelling"
)

// longName is the length from which two edits leave a name recognizable.
const longName = 8

// nearest returns the known name that name was probably meant to be, or "". It is stricter
// than agent.Suggest, as a wrong guess is a warning about a right name.
func nearest(name string, known []string) string {
	for _, k := range agent.Suggest(name, known) {
		a, b := strings.ToLower(name), strings.ToLower(k)
		if spelling.Slip(a, b) || len(a) >= longName && len(b) >= longName && max(len(a)-len(b), len(b)-len(a)) <= 2 {
			return k
		}
	}
	return ""
}
