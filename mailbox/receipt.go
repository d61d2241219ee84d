package mailbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// State is the progress of a message. For a sender it only advances.
type State string

// The states of a message, and their meaning in a receipt.
const (
	// StateAccepted: on the sender's disk. In a receipt: a message before the one that
	// arrived is missing; send everything after Through again.
	StateAccepted State = "accepted"
	// StateDelivered: in the receiver's transcript, on its disk.
	StateDelivered State = "delivered"
	// StateRead: part of a recorded model request of the receiver.
	StateRead State = "read"
	// StateAnswered: the receiver sent a reply.
	StateAnswered State = "answered"
	// StateRejected: the receiver will never read it; the receipt has a reason.
	StateRejected State = "rejected"
	// StateExpired: the receiver did not read it in time, or a newer one replaced it.
	StateExpired State = "expired"
	// StateDead: the receiver has ended for good.
	StateDead State = "dead"
	// StateFull exists in receipts only: the receiver holds as many unread messages of
	// this sender as it may; it recorded nothing after Through.
	StateFull State = "full"
)

// rank orders the states; a message never changes to a lower or equal rank.
func (s State) rank() int {
	switch s {
	case StateAccepted:
		return 1
	case StateDelivered:
		return 2
	case StateRead:
		return 3
	case StateAnswered, StateRejected, StateExpired, StateDead:
		return 4
	}
	return 0
}

// Final reports whether the state is the last one of a message.
func (s State) Final() bool { return s.rank() == 4 }

// givesUp reports whether the state ends a message that need not have been delivered.
func (s State) givesUp() bool { return s == StateRejected || s == StateExpired || s == StateDead }

func (s State) valid() bool { return s == StateFull || s.rank() > 0 }

// Receipt reports the states of messages from their receiver to their sender. Receipts
// are cumulative, and a message that is sent again causes another one, so that a lost
// receipt does no harm.
type Receipt struct {
	From    Address // the receiver of the messages
	To      Address // their sender
	State   State
	Through uint64 // every message with Seq up to here is delivered
	IDs     []ID   // the messages that are read, answered, rejected, expired or dead
	Reason  string // for people; at most MaxSummary bytes
}

// Status is the state of a message as its sender knows it.
type Status struct {
	To     Address
	Seq    uint64
	State  State
	Reason string
}

// Validate reports the first reason for which a sender would refuse r.
func (r Receipt) Validate() error {
	switch {
	case !r.From.Agent.Valid():
		return fmt.Errorf("mailbox: receipt from: %w", addressError(string(r.From.Agent)))
	case !r.To.Agent.Valid():
		return fmt.Errorf("mailbox: receipt to: %w", addressError(string(r.To.Agent)))
	case !r.State.valid():
		return fmt.Errorf("mailbox: receipt with the unknown state %.80q", r.State)
	case len(r.Reason) > MaxSummary || !utf8.ValidString(r.Reason):
		return fmt.Errorf("mailbox: the reason of a receipt must be UTF-8 of at most %d bytes, it has %d", MaxSummary, len(r.Reason))
	}
	if i := slices.IndexFunc(r.IDs, func(id ID) bool { return !id.Valid() }); i >= 0 {
		return fmt.Errorf("mailbox: receipt for %.80q, which is not a message id", r.IDs[i])
	}
	return nil
}

// AppendJSON appends the wire form, version 1 of docs/envelope.md.
func (r Receipt) AppendJSON(dst []byte) []byte {
	dst = append(r.From.append(append(dst, `{"v":1,"from":"`...)), `","to":"`...)
	dst = appendString(append(r.To.append(dst), `","state":`...), string(r.State))
	dst = strconv.AppendUint(append(dst, `,"through":`...), r.Through, 10)
	for i, id := range r.IDs {
		if i == 0 {
			dst = append(dst, `,"ids":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendString(dst, string(id))
	}
	if len(r.IDs) > 0 {
		dst = append(dst, ']')
	}
	return append(appendOptional(dst, `,"reason":`, r.Reason), '}')
}

// DecodeReceipt decodes the wire form as strictly as DecodeEnvelope does.
func DecodeReceipt(data []byte) (Receipt, error) {
	if len(data) > MaxWire {
		return Receipt{}, &TooLargeError{What: "receipt", Size: len(data), Limit: MaxWire}
	}
	if !utf8.Valid(data) {
		return Receipt{}, errors.New("mailbox: receipt is not valid UTF-8")
	}
	d := receiptDecoder{p: parser{s: string(data)}}
	if err := d.p.document(&d); err != nil {
		return Receipt{}, fmt.Errorf("mailbox: decode receipt: %w", err)
	}
	if err := d.p.required("v", "from", "to", "state", "through"); err != nil {
		return Receipt{}, fmt.Errorf("mailbox: decode receipt: %w", err)
	}
	return d.r, d.r.Validate()
}

type receiptDecoder struct {
	p parser
	r Receipt
}

func (d *receiptDecoder) member(key string) (err error) {
	p, r := &d.p, &d.r
	switch key {
	case "v":
		return p.version(wireVersion)
	case "from":
		return p.address(&r.From)
	case "to":
		return p.address(&r.To)
	case "state":
		return readText(p, &r.State)
	case "through":
		r.Through, err = p.number()
	case "ids":
		var list []string
		list, err = p.texts()
		for _, s := range list {
			r.IDs = append(r.IDs, ID(s))
		}
	case "reason":
		return readText(p, &r.Reason)
	default:
		return p.unknown(key)
	}
	return err
}

// AppendBinary appends the compact form, for journal records.
func (r Receipt) AppendBinary(dst []byte) []byte {
	dst = append(dst, binaryVersion)
	dst = appendText(dst, string(r.State))
	dst = binary.AppendUvarint(dst, r.Through)
	dst = appendAddress(appendAddress(dst, r.From), r.To)
	dst = appendText(dst, r.Reason)
	dst = binary.AppendUvarint(dst, uint64(len(r.IDs)))
	for _, id := range r.IDs {
		dst = appendText(dst, string(id))
	}
	return dst
}

// DecodeBinaryReceipt decodes what Receipt.AppendBinary wrote.
func DecodeBinaryReceipt(data []byte) (Receipt, error) {
	r := reader{s: string(data)}
	var out Receipt
	r.version(binaryVersion)
	if out.State = State(r.text()); !out.State.valid() {
		r.fail(errors.New("unknown state"))
	}
	out.Through = r.uvarint()
	out.From, out.To = r.address(), r.address()
	out.Reason = r.text()
	for range r.count() {
		out.IDs = append(out.IDs, ID(r.text()))
	}
	if err := r.end(); err != nil {
		return Receipt{}, fmt.Errorf("mailbox: decode receipt record: %w", err)
	}
	return out, nil
}
