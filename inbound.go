package swarm

import (
	"slices"

	"github.com/actorswarm/swarm/internal/settings"
)

// stricter says whether i lets less in than o.
func (i Inbound) stricter(o Inbound) bool {
	order := []Inbound{"", InboundAccept, InboundHold, InboundRefuse}
	return slices.Index(order, i) > slices.Index(order, o)
}

// readInbound takes the strictest of what the option and the settings files say of
// messages of other sessions. A wrong value in a file is a note.
func (s *Session) readInbound() {
	all, notes := settings.Values(s.opts.sources(), settings.CrossSessionInbound, Inbound.validate)
	s.notes = append(s.notes, notes...)
	for _, i := range all {
		if i.stricter(s.opts.Inbound) {
			s.opts.Inbound = i
		}
	}
}
