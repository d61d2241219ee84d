package roster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// refusalPause slows down a sender whose message was refused because a mailbox is full: as
// much as an accepted message does, so that a sender that ignores the refusal leaves the
// processors to others.
const refusalPause = time.Millisecond

// Send accepts a message: it is on disk when Send returns. For Everyone there is one result
// for each member but the sender; otherwise exactly one.
func (r *Roster) Send(from *transcript.Transcript, l team.Message) ([]team.SendResult, error) {
	accepted, err := r.record(from, l)
	if errors.As(err, new(*mailbox.FullError)) {
		<-time.After(refusalPause)
	}
	var results []team.SendResult
	for _, p := range accepted {
		if p.Err == nil {
			p.Err = p.durable()
			err = errors.Join(err, p.Err)
		}
		results = append(results, p.SendResult)
	}
	return results, err
}

// posted is the result for one receiver before it is on disk.
type posted struct {
	team.SendResult
	durable func() error // waits until it is on disk
}

// record is Send without waiting for the disk.
func (r *Roster) record(from *transcript.Transcript, l team.Message) ([]posted, error) {
	if l.To == team.Everyone {
		return r.broadcast(from, l)
	}
	accepted, err := r.sendOne(from, l)
	if errors.As(err, new(*team.IncarnationError)) || errors.As(err, new(*team.ControlError)) {
		r.agents.Refused(from.ID(), "a message to "+l.To, err)
	}
	return accepted, err
}

func (r *Roster) sendOne(from *transcript.Transcript, l team.Message) ([]posted, error) {
	to, err := r.address(from.Spec(), l)
	if r.remote != nil && team.IsUnknown(err) {
		return r.postRemote(from, l, err)
	}
	if err != nil {
		return nil, err
	}
	p := r.wakeAndEnqueue(from, to, l)
	if p.durable == nil { // nobody would read it
		return nil, p.Err
	}
	return []posted{p}, p.Err
}

// wakeAndEnqueue posts to an agent that may have ended, and wakes it.
func (r *Roster) wakeAndEnqueue(from, to *transcript.Transcript, l team.Message) posted {
	if err := r.check(from, to.Record(), l); err != nil {
		return posted{SendResult: team.SendResult{Name: agent.DisplayName(to.Spec()), Err: err}}
	}
	if err := r.agents.Reopen(to.ID(), from.ID()); err != nil {
		return posted{SendResult: team.SendResult{Name: agent.DisplayName(to.Spec()), Err: err}}
	}
	return r.enqueue(from, to.Record(), l)
}

// address is Reach for a name that may have an incarnation, as in name@2, which must be the
// present one.
func (r *Roster) address(from agent.Spec, l team.Message) (*transcript.Transcript, error) {
	if isSessionAddress(l.To) {
		return r.toSession(l)
	}
	plain, life := incarnationOf(l.To)
	t, err := r.Reach(from, plain)
	switch {
	case err != nil && r.sessions != nil && errors.As(err, new(*team.UnknownAgentError)):
		return r.elsewhere(l, err)
	case err != nil:
		return nil, err
	case isProxy(t.Spec()):
		return r.toSession(l)
	}
	return t, isPresent(t.Record(), life)
}

// isPresent returns an error unless an agent is in the incarnation that the message is for;
// 0 is any. Only its process knows that of an agent elsewhere, where the message itself is
// refused.
func isPresent(l agent.Record, wanted uint32) error {
	name := agent.DisplayName(l.Spec)
	switch {
	case wanted == 0, l.Spec.Where == agent.InOwner:
		return nil
	case wanted != l.Incarnation:
		return &team.IncarnationError{Name: name, Wanted: wanted, Present: l.Incarnation}
	case l.Closed: // it would wake in another incarnation
		return &team.EndedError{Name: name, Reason: l.Reason}
	}
	return nil
}

// elsewhere is address for a name of no agent here: it may be the id of another session.
// Otherwise the error is unknown.
func (r *Roster) elsewhere(l team.Message, unknown error) (*transcript.Transcript, error) {
	t, err := r.sessions.Reach(l.To, l)
	if errors.Is(err, team.ErrNoSession) {
		return nil, unknown
	}
	return t, err
}

func incarnationOf(name string) (string, uint32) {
	plain, digits, found := strings.Cut(name, "@")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !found || plain == "" || err != nil {
		return name, 0
	}
	return plain, uint32(n)
}

// broadcast posts to every member. The result names a teammate that has ended and gets
// nothing: only a message of its own wakes it.
func (r *Roster) broadcast(from *transcript.Transcript, l team.Message) ([]posted, error) {
	l.Kind = cmp.Or(l.Kind, mailbox.KindBroadcast)
	everybody, err := r.receivers()
	var all []posted
	for _, m := range r.audience(from.Spec(), everybody) {
		switch spec := m.Record.Spec; {
		case spec.ID == from.ID(), isProxy(spec): // other sessions get no broadcasts
		case m.Record.Closed:
			name := agent.DisplayName(spec)
			all = append(all, posted{SendResult: team.SendResult{Name: name, Err: &team.EndedError{Name: name, Reason: m.Record.Reason}}})
		default:
			all = append(all, r.enqueue(from, m.Record, l))
		}
	}
	if err != nil {
		all = append(all, posted{SendResult: team.SendResult{Name: "agents in other processes", Err: err}})
	}
	if len(all) == 0 {
		return nil, team.ErrAlone
	}
	return all, nil
}

func (r *Roster) check(from *transcript.Transcript, to agent.Record, l team.Message) error {
	class := mailbox.Envelope{Kind: cmp.Or(l.Kind, mailbox.KindText), Class: l.Class}.EffectiveClass()
	switch {
	case to.Spec.ID == from.ID():
		return team.ErrSelf
	case class == mailbox.ClassControl && !r.agents.MayControl(from.ID(), to):
		return &team.ControlError{From: agent.DisplayName(from.Spec()), To: agent.DisplayName(to.Spec)}
	}
	return nil
}

func (r *Roster) enqueue(from *transcript.Transcript, to agent.Record, l team.Message) posted {
	sender, receiver := from.Spec(), to.Spec
	_, present := incarnationOf(l.To)
	e := mailbox.Envelope{
		To:       mailbox.Address{Agent: receiver.ID, Incarnation: present},
		FromName: agent.DisplayName(sender), ToName: agent.DisplayName(receiver),
		Kind: cmp.Or(l.Kind, mailbox.KindText), Class: l.Class, InReplyTo: l.ReplyTo, Key: l.Stale, Summary: l.Summary, Body: l.Text,
	}
	if err := r.check(from, to, l); err != nil {
		return posted{SendResult: team.SendResult{Name: e.ToName, Err: err}}
	}
	if l.Key != "" {
		e.ID = messageID(sender.ID, receiver.ID, l.Key)
	}
	e, durable, err := from.Send(e)
	if err == nil {
		r.agents.Sent(from.ID(), e)
	}
	return posted{team.SendResult{Name: e.ToName, ID: e.ID, Err: err}, durable}
}

func messageID(from, to mailbox.AgentID, key string) mailbox.ID {
	sum := sha256.Sum256([]byte(string(from) + "\x00" + string(to) + "\x00" + key))
	return mailbox.ID("m" + hex.EncodeToString(sum[:12]))
}
