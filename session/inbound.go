package session

import (
	"fmt"
	"slices"
)

// Inbound says what becomes of messages of other sessions.
type Inbound string

// What Inbound can be. The zero value is hold where one of the two sessions bypasses
// permissions and the other does not, and accept otherwise.
const (
	InboundAccept Inbound = "accept" // the lead reads them
	InboundHold   Inbound = "hold"   // the user is asked about each
	InboundRefuse Inbound = "refuse"
)

// Validate says what is wrong with a value: the error goes on after the name of what
// holds it.
func (i Inbound) Validate() error {
	switch i {
	case "", InboundAccept, InboundHold, InboundRefuse:
		return nil
	}
	return fmt.Errorf("is %q; give accept, hold or refuse", string(i))
}

// Stricter reports whether i lets less in than o.
func (i Inbound) Stricter(o Inbound) bool {
	order := []Inbound{"", InboundAccept, InboundHold, InboundRefuse}
	return slices.Index(order, i) > slices.Index(order, o)
}
