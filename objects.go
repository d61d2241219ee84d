package swarm

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// ObjectName returns where the whole text of a message that has a Ref is on the server
// of its session, until it has been read by whom it is for: bucket/name.
func ObjectName(session string, ref mailbox.Ref) string { return bus.ObjectName(session, ref) }

// TextPart is a part of the text of a message.
type TextPart struct {
	Text string `json:"text"`
	Size int    `json:"size"`           // of the whole text, in bytes
	Next int    `json:"next,omitempty"` // offset of what follows; 0 after the last part
}

// partOf returns the part of the text of a message to a member outside that begins at
// an offset, whether or not the member has read the message.
func (s *Session) partOf(t *transcript.Transcript, id mailbox.ID, offset int) (TextPart, error) {
	mail := t.Unread()
	at := slices.IndexFunc(mail, func(e mailbox.Envelope) bool { return e.ID == id })
	if at < 0 {
		all, err := s.store.Inbox(t.ID())
		if err != nil {
			return TextPart{}, err
		}
		for _, m := range all {
			mail = append(mail, m.Envelope)
		}
		at = slices.IndexFunc(mail, func(e mailbox.Envelope) bool { return e.ID == id })
	}
	if at < 0 {
		return TextPart{}, fmt.Errorf("%s has got no message %.64q", t.ID(), id)
	}
	text, err := s.store.Body(mail[at])
	if err != nil {
		return TextPart{}, err
	}
	return cutPart(text, offset)
}

func cutPart(text string, offset int) (TextPart, error) {
	if offset < 0 || offset > len(text) || offset < len(text) && !utf8.RuneStart(text[offset]) {
		return TextPart{}, fmt.Errorf("no part of the text begins at %d; begin with 0 and go on with what next says", offset)
	}
	p := TextPart{Text: mailbox.Cut(text[offset:], mostText), Size: len(text)}
	if end := offset + len(p.Text); end < len(text) {
		p.Next = end
	}
	return p, nil
}
