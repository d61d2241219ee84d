package defcheck

import (
	"strings"

	"github.com/actorswarm/swarm/agent"
)

// longName is the length from which two edits leave a name recognizable.
const longName = 8

// nearest returns the known name that name was probably meant to be, or "". It is stricter
// than agent.Suggest, as a wrong guess is a warning about a right name.
func nearest(name string, known []string) string {
	for _, k := range agent.Suggest(name, known) {
		a, b := strings.ToLower(name), strings.ToLower(k)
		if slip(a, b) || len(a) >= longName && len(b) >= longName && max(len(a)-len(b), len(b)-len(a)) <= 2 {
			return k
		}
	}
	return ""
}

// slip reports whether two names differ by at most one letter, or by two neighbours that
// have changed places.
func slip(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
