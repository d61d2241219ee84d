package swarm

import (
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/defs"
)

// inboundSetting is the key of the settings files.
const inboundSetting = "crossSessionInbound"

// stricter says whether i lets less in than o.
func (i Inbound) stricter(o Inbound) bool {
	order := []Inbound{"", InboundAccept, InboundHold, InboundRefuse}
	return slices.Index(order, i) > slices.Index(order, o)
}

// settleInbound takes the strictest of what the option and the settings files say of
// messages of other sessions. What a file says wrong is a note: the rest of it counts.
func (s *Session) settleInbound() {
	files, _, err := defs.ReadSettings(s.opts.sources())
	if err != nil {
		return // told where the definitions are read
	}
	for _, f := range files {
		said := Inbound("")
		if f.Untrusted {
			continue
		}
		if err := setting(f, inboundSetting, &said); err != nil {
			s.notes = append(s.notes, err.Error())
			continue
		}
		if said.settle() != nil {
			s.notes = append(s.notes, fmt.Sprintf("%s: %s is %q; use accept, hold or refuse", f.Path, inboundSetting, said))
			continue
		}
		if said.stricter(s.opts.Inbound) {
			s.opts.Inbound = said
		}
	}
}
