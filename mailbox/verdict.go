package mailbox

import "fmt"

// Verdict is what a ledger decides about an arriving message.
type Verdict uint8

// The verdicts. Only a Fresh message is recorded.
const (
	Fresh            Verdict = iota + 1 // the next one of its sender
	Duplicate                           // recorded before; its receipt is sent again
	Gap                                 // a message before it is missing; the sender sends again
	Stale                               // from an earlier incarnation of its sender
	Full                                // the receiver holds too many unread messages of this sender
	WrongIncarnation                    // for an incarnation of its receiver that is not the current one
	Dead                                // its receiver, an agent of another node, has ended for good
)

func (v Verdict) String() string {
	switch v {
	case Fresh:
		return "fresh"
	case Duplicate:
		return "duplicate"
	case Gap:
		return "gap"
	case Stale:
		return "stale"
	case Full:
		return "full"
	case WrongIncarnation:
		return "wrong incarnation"
	case Dead:
		return "dead"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}
