package mailbox

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Limits of an envelope, in bytes.
const (
	MaxBody    = 256 << 10 // Envelope.Body
	MaxSummary = 4 << 10   // Envelope.Summary
	MaxName    = 256       // Envelope.FromName and ToName
	MaxKey     = 256       // Envelope.Key
	MaxWire    = 2 << 20   // one encoded envelope, with every byte escaped
)

// Envelope is one message with its sender, receiver, id and number. It is a value and
// does not change once it is recorded, except that a sender that gives up a message
// raises Skips of the next.
type Envelope struct {
	ID       ID
	From, To Address
	FromName string // display name of the sender; not used to route
	ToName   string
	Seq      uint64 // per (From.Agent, To.Agent), from 1 without holes
	Skips    uint64 // how many numbers right before Seq the sender gave up; nearly always 0
	Kind     Kind
	Class    Class // "" is the class of its kind
	Sent     time.Time
	// Key lets a message replace an unread one of the same sender and kind under the
	// same key; "" replaces none.
	Key string
	// InReplyTo is the message that this one answers, or "".
	InReplyTo ID
	Summary   string
	Body      string
	// Ref identifies the whole body when Body holds only its beginning.
	Ref Ref
}

// TooLargeError reports the part of a message that exceeds its limit; sizes in bytes.
type TooLargeError struct {
	What        string
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the %s of the message is %d bytes and at most %d can be sent; write it to a file and send the path", e.What, e.Size, e.Limit)
}

// Validate reports the first reason for which a receiver would refuse e.
func (e Envelope) Validate() error {
	switch {
	case !e.ID.Valid():
		return fmt.Errorf("mailbox: message id %.80q is not 1 to %d of a-z, 0-9 and '-'; leave it empty to have one made", e.ID, maxToken)
	case e.InReplyTo != "" && !e.InReplyTo.Valid():
		return fmt.Errorf("mailbox: message %s answers %.80q, which is not a message id", e.ID, e.InReplyTo)
	case !e.From.Agent.Valid():
		return fmt.Errorf("mailbox: sender of message %s: %w", e.ID, addressError(string(e.From.Agent)))
	case !e.To.Agent.Valid():
		return fmt.Errorf("mailbox: receiver of message %s: %w", e.ID, addressError(string(e.To.Agent)))
	case !e.Kind.Valid():
		return kindError(e.Kind)
	case !e.Class.Valid():
		return fmt.Errorf("mailbox: message %s has the class %.80q; there are control, steer and mail", e.ID, e.Class)
	case e.Seq == 0 || e.Skips >= e.Seq:
		return fmt.Errorf("mailbox: message %s has sequence number %d after %d skipped; let Ledger.Compose number it", e.ID, e.Seq, e.Skips)
	case !e.Ref.Valid():
		return fmt.Errorf("mailbox: message %s refers to %.80q; write sha256:HEX:SIZE", e.ID, e.Ref)
	case e.Sent.Year() < 1 || e.Sent.Year() > 9999:
		return fmt.Errorf("mailbox: message %s was sent in the year %d; the wire form holds 1 to 9999", e.ID, e.Sent.Year())
	}
	return e.validateText()
}

func (e Envelope) validateText() error {
	parts := [...]struct {
		what, text string
		limit      int
	}{
		{"body", e.Body, MaxBody},
		{"summary", e.Summary, MaxSummary},
		{"sender's name", e.FromName, MaxName},
		{"receiver's name", e.ToName, MaxName},
		{"key", e.Key, MaxKey},
	}
	for _, p := range &parts {
		if len(p.text) > p.limit {
			return &TooLargeError{What: p.what, Size: len(p.text), Limit: p.limit}
		}
		if !utf8.ValidString(p.text) {
			return fmt.Errorf("mailbox: the %s of message %s is not valid UTF-8; only text can be sent", p.what, e.ID)
		}
	}
	return nil
}
