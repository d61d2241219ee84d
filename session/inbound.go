package session

import (
	"fmt"
	"slices"
)

// Inbound decides about messages of other sessions.
type Inbound string

// The values of Inbound. The zero value is hold if one of the two sessions bypasses
// permissions and the other does not, and accept otherwise.
const (
	InboundAccept Inbound = "accept" // the lead reads them
	InboundHold   Inbound = "hold"   // the user is asked about each
	InboundRefuse Inbound = "refuse"
)

// Validate returns an error for an invalid value, to follow the name of its option or
// setting.
func (i Inbound) Validate() error {
	switch i {
	case "", InboundAccept, InboundHold, InboundRefuse:
		return nil
	}
	return fmt.Errorf("is %q; give accept, hold or refuse", string(i))
}

// Stricter reports whether i accepts less than o.
func (i Inbound) Stricter(o Inbound) bool {
	order := []Inbound{"", InboundAccept, InboundHold, InboundRefuse}
	return slices.Index(order, i) > slices.Index(order, o)
}
