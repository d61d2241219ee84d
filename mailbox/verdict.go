package mailbox

import "fmt"

// Verdict is what a ledger says about an arriving message.
type Verdict uint8

// The verdicts. Only a Fresh message is recorded.
const (
	Fresh     Verdict = iota + 1 // the next one of its sender
	Duplicate                    // recorded before; the receipt is repeated
	Gap                          // one before it is missing; the sender goes back
	Stale                        // of a past incarnation of its sender
	Full                         // this sender has too many unread messages here
	Past                         // for an incarnation of its receiver that is not the present one
	Gone                         // its receiver, of another node, has ended for good and nothing of that node answers
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
	case Past:
		return "past"
	case Gone:
		return "gone"
	}
	return fmt.Sprintf("verdict %d", uint8(v))
}
