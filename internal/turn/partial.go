package turn

import (
	"strings"

	"github.com/actorswarm/swarm/model"
)

// partial is the text of the answer under way, for the case that it breaks off.
type partial struct {
	text strings.Builder
	void bool // the answer is asked for again; what there is holds until that says something
}

func (p *partial) see(e model.Event) {
	switch e.Kind {
	case model.TextDelta:
		if p.void {
			*p = partial{}
		}
		p.text.WriteString(e.Text)
	case model.BackingOff:
		p.void = true
	case model.Finished:
		*p = partial{}
	}
}

// partialMark follows a text that its agent could not finish.
const partialMark = "\n(partial: the answer broke off here)"

// or returns the text under way, or else what was said before it.
func (p *partial) or(before string) string {
	if text := strings.TrimSpace(p.text.String()); text != "" {
		return text + partialMark
	}
	return before
}
