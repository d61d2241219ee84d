package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/actorswarm/swarm/internal/object"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// Trace is a message and what became of it.
type Trace = mailbox.Trace

// inboxKept is how many read messages an inbox still shows.
const inboxKept = 20

// inboxBody is how much of a body an inbox shows, in bytes.
const inboxBody = 2 << 10

// UnknownMessageError reports an id that no message of the session has.
type UnknownMessageError struct{ ID mailbox.ID }

func (e *UnknownMessageError) Error() string {
	return fmt.Sprintf("there is no message %.80q in the session; swarm inbox NAME lists those of an agent", e.ID)
}

// Inbox returns the unread messages of an agent, by name or id, and the last
// that it has read, oldest first. Of long bodies it holds the beginning.
func (s *Session) Inbox(name string) ([]Trace, error) {
	if s.nodes == nil {
		return inbox(s.store, s.roster, name)
	}
	b := s.nodes.below()
	return inboxOfAny(b.record, name, b.look)
}

// inboxOfAny is inbox for an agent that may live in a process of its own, or below
// one that does.
func inboxOfAny(r record, name string, look lookup) ([]Trace, error) {
	t, err := team.NewRoster(r.agents).Find(name)
	host, id := mailbox.AgentID(""), mailbox.AgentID("")
	switch {
	case err == nil && !t.IsShadow():
		return r.inbox(name)
	case err == nil:
		host, id = t.ID(), t.ID()
	default:
		a, below, err := (below{r, look}).find(name, err)
		if err != nil {
			return nil, err
		}
		host, id = below, a.Life.Spec.ID
	}
	sight, err := look(host, lookInbox, string(id))
	if err != nil {
		return nil, err
	}
	return withComing(sight.Inbox, r.store.Pending(), id), nil
}

// Message returns a message of the session and all that became of it. The error
// is an *UnknownMessageError if there is none.
func (s *Session) Message(id mailbox.ID) (Trace, error) {
	var others map[mailbox.AgentID]nodeSight
	if s.nodes != nil {
		others = s.nodes.lookAll(lookMail, string(id))
	}
	return trace(s.store, id, others)
}

func inbox(store *transcript.Store, roster *team.Roster, name string) ([]Trace, error) {
	t, err := roster.Find(name)
	if err != nil {
		return nil, err
	}
	all, err := received(store, t.ID())
	if err != nil {
		return nil, err
	}
	read := 0
	var kept []Trace
	for _, m := range slices.Backward(all) {
		if !m.Unread() {
			if read++; read > inboxKept {
				continue
			}
		}
		m.Envelope.Body = mailbox.Cut(m.Envelope.Body, inboxBody)
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	return kept, nil
}

// received returns every message to an agent: what it has got, then what is
// still on its way, as all is that comes while the session does not run.
func received(store *transcript.Store, id mailbox.AgentID) ([]Trace, error) {
	coming := store.Pending() // first: what arrives meanwhile is then in both, and not in neither
	all, err := store.Inbox(id)
	return withComing(all, coming, id), err
}

// withComing adds to what an agent has got what is on its way to it.
func withComing(all []Trace, coming []mailbox.Envelope, id mailbox.AgentID) []Trace {
	for _, e := range coming {
		here := slices.ContainsFunc(all, func(m Trace) bool { return m.Envelope.ID == e.ID })
		if e.To.Agent == id && !here {
			all = append(all, Trace{Envelope: e, Steps: []mailbox.Step{{State: mailbox.StateAccepted, Time: e.Sent}}})
		}
	}
	return all
}

// trace joins what the sender and the receiver have recorded, here or in the
// records of agents in processes of their own.
func trace(store *transcript.Store, id mailbox.ID, others map[mailbox.AgentID]nodeSight) (Trace, error) {
	sent, got, err := mailIn(store, id)
	if err != nil {
		return Trace{}, err
	}
	for _, o := range others {
		sent, got = cmp.Or(sent, o.Sent), cmp.Or(got, o.Got)
	}
	switch {
	case sent == nil:
		return Trace{}, &UnknownMessageError{ID: id}
	case got != nil:
		sent.Steps = merge(sent.Steps, got.Steps)
	}
	return *sent, nil
}

// mailIn returns what a store knows of a message as its sender's and as its
// receiver's; nil is nothing.
func mailIn(store *transcript.Store, id mailbox.ID) (sent, got *Trace, err error) {
	m, found, err := store.Sent(id)
	if err != nil {
		return nil, nil, err
	}
	receivers := store.All()
	if found {
		sent = &m
		receivers = slices.DeleteFunc(receivers, func(t *transcript.Transcript) bool { return t.ID() != m.Envelope.To.Agent })
	}
	for _, t := range receivers {
		all, err := store.Inbox(t.ID())
		if err != nil {
			return sent, nil, err
		}
		if i := slices.IndexFunc(all, func(x Trace) bool { return x.Envelope.ID == id }); i >= 0 {
			return sent, &all[i], nil
		}
	}
	return sent, nil, nil
}

// merge puts what both sides know in order: the receiver knows times.
func merge(sender, receiver []mailbox.Step) []mailbox.Step {
	all := slices.Clone(receiver)
	for _, s := range sender {
		i := slices.IndexFunc(all, func(x mailbox.Step) bool { return x.State == s.State })
		switch {
		case i < 0:
			all = append(all, s)
		case all[i].Time.IsZero():
			all[i] = s
		}
	}
	return all
}

// WholeBody returns the whole body of a message of a session, also of one that
// is kept in a file of its own.
func WholeBody(info Info, e mailbox.Envelope) (string, error) {
	if e.Ref == "" {
		return e.Body, nil
	}
	body, err := object.New(filepath.Join(info.Path, "objects")).Get(e.Ref)
	return string(body), err
}

// PeekInbox is Session.Inbox for a session that does not run.
func PeekInbox(ctx context.Context, info Info, name string) (all []Trace, err error) {
	k, err := openKept(ctx, info, transcript.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	b := k.below(ctx, info)
	return inboxOfAny(b.record, name, b.look)
}

// PeekMessage is Session.Message for a session that does not run.
func PeekMessage(ctx context.Context, info Info, id mailbox.ID) (m Trace, err error) {
	k, err := openKept(ctx, info, transcript.Options{ReadOnly: true})
	if err != nil {
		return Trace{}, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	others := lookAll(hosts(k.store), func(host mailbox.AgentID) (nodeSight, error) { return lookInto(ctx, info, host, lookMail, string(id)) })
	return trace(k.store, id, others)
}
