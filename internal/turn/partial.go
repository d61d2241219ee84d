package turn

import (
	"strings"

	"github.com/actorswarm/swarm/model"
)

// partial is the text of the current answer, in case it is interrupted.
type partial struct {
	text strings.Builder
	void bool // the request is repeated; the text is replaced when new text arrives
}

func (p *partial) add(e model.Event) {
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

// partialMark marks a text that the model could not finish.
const partialMark = "\n(partial: the answer broke off here)"

// orElse returns the text of the current answer, or before if there is none.
func (p *partial) orElse(before string) string {
	if text := strings.TrimSpace(p.text.String()); text != "" {
		return text + partialMark
	}
	return before
}
