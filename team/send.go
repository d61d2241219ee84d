package team

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// Letter is what somebody wants to say.
type Letter struct {
	To      string // a name, team/name, an agent id, or Everyone
	Text    string
	Summary string
	Kind    mailbox.Kind  // "" is a text, or to Everyone a broadcast
	Class   mailbox.Class // "" is the kind's
	ReplyTo mailbox.ID    // the message that this one answers
	// Stale names what the letter is the newest word on: it takes the place of an
	// unread one about the same.
	Stale string
	// Key makes sending repeatable: two letters of one sender with the same key
	// and receiver are one message. Empty means that each is its own.
	Key string
}

// Posted is what became of a letter to one receiver.
type Posted struct {
	Name string // of the receiver
	ID   mailbox.ID
	Err  error // why it was not accepted

	durable func() error // waits until it is on disk
}

// ErrAlone is the answer to a broadcast when there is nobody else.
var ErrAlone = errors.New("there is nobody else in the session to write to")

// Send accepts a letter: it is on disk when Send returns. For Everyone there is
// one Posted for each member but the sender; otherwise exactly one.
func (r *Roster) Send(from *transcript.Transcript, l Letter) ([]Posted, error) {
	posted, err := r.record(from, l)
	for i := range posted {
		if posted[i].Err == nil {
			posted[i].Err = posted[i].durable()
			err = errors.Join(err, posted[i].Err)
		}
	}
	return posted, err
}

// record is Send without the wait for the disk.
func (r *Roster) record(from *transcript.Transcript, l Letter) ([]Posted, error) {
	if l.To != Everyone {
		to, err := r.Reach(from.Spec(), l.To)
		if err != nil {
			return nil, err
		}
		if err := r.agents.Wake(to, from.ID()); err != nil {
			return nil, err // nobody would read it
		}
		p := r.post(from, to, l)
		return []Posted{p}, p.Err
	}
	if l.Kind == "" {
		l.Kind = mailbox.KindBroadcast
	}
	var all []Posted
	for _, m := range r.audience(from.Spec()) {
		to, ok := r.agents.Find(string(m.Life.Spec.ID))
		if ok && to.ID() != from.ID() {
			all = append(all, r.post(from, to, l))
		}
	}
	if len(all) == 0 {
		return nil, ErrAlone
	}
	return all, nil
}

func (r *Roster) post(from, to *transcript.Transcript, l Letter) Posted {
	sender, receiver := from.Spec(), to.Spec()
	if l.Kind == "" {
		l.Kind = mailbox.KindText
	}
	e := mailbox.Envelope{
		To:       mailbox.Address{Agent: receiver.ID},
		FromName: actors.DisplayName(sender), ToName: actors.DisplayName(receiver),
		Kind: l.Kind, Class: l.Class, InReplyTo: l.ReplyTo, Key: l.Stale, Summary: l.Summary, Body: l.Text,
	}
	if l.Key != "" {
		e.ID = letterID(sender.ID, receiver.ID, l.Key)
	}
	e, durable, err := from.Send(e)
	if err == nil {
		r.agents.Sent(from, e)
	}
	return Posted{Name: e.ToName, ID: e.ID, Err: err, durable: durable}
}

func letterID(from, to mailbox.AgentID, key string) mailbox.ID {
	sum := sha256.Sum256([]byte(string(from) + "\x00" + string(to) + "\x00" + key))
	return mailbox.ID("m" + hex.EncodeToString(sum[:12]))
}
