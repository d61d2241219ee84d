package archive

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// Record is the agents and their mail of one journal.
type Record struct {
	Store  *transcript.Store
	Agents *coordinator.Coordinator
}

// Nested returns the other agents that live in the process of host, from the journal of
// that process.
func (r Record) Nested(host mailbox.AgentID) []actors.Status {
	return slices.DeleteFunc(r.Agents.Status(), func(s actors.Status) bool {
		return s.Record.Spec.Where != "" || s.Record.Spec.ID == host || !s.Record.Spec.Role.IsAgent()
	})
}

// Local returns the agents that have their own record here, and not in the journal of
// another process.
func (r Record) Local() (all []*transcript.Transcript) {
	for _, t := range r.Store.All() {
		if !t.IsReplica() {
			all = append(all, t)
		}
	}
	return all
}

// Cut ends the turns that a process has left open.
func (r Record) Cut(cause error) (err error) {
	for _, t := range r.Local() {
		if l := t.Record(); l.TurnOpen {
			err = errors.Join(err, t.End(agent.Stopped, cause.Error(), l.Result, "not run: the turn was stopped"))
		}
	}
	return err
}

// End ends the agent that host is, and all others in its process.
func (r Record) End(ctx context.Context, host mailbox.AgentID, cause error) error {
	_, err := r.Agents.StopTree(ctx, host, cause)
	for _, s := range r.Nested(host) { // also those that work for an agent of another process
		if !s.Record.Closed || errors.Is(cause, turn.ErrKilled) {
			err = errors.Join(err, r.Agents.Stop(ctx, s.Record.Spec.ID, cause))
		}
	}
	return err
}

// The subjects of a Query.
const (
	QueryNested = "staff" // the agents that live in a process besides its own
	QueryInbox  = "inbox" // the mail of an agent, by id
	QueryMail   = "mail"  // a message, by id
)

// Snapshot is the answer to a query of a record. Its form is part of the protocol
// between the processes of a session.
type Snapshot struct {
	Nested []actors.Status `json:"staff,omitempty"`
	Inbox  []mailbox.Trace `json:"inbox,omitempty"`
	Sent   *mailbox.Trace  `json:"sent,omitempty"` // as its sender sees it
	Got    *mailbox.Trace  `json:"got,omitempty"`  // as its receiver sees it
}

// Query answers a query of the record of an agent that has a process of its own:
// QueryNested, QueryInbox or QueryMail.
func (r Record) Query(host mailbox.AgentID, what, name string) (out Snapshot, err error) {
	switch what {
	case QueryNested:
		out.Nested = r.Nested(host)
	case QueryInbox:
		out.Inbox, err = r.Inbox(name)
	case QueryMail:
		out.Sent, out.Got, err = r.Store.Trace(mailbox.ID(name))
	}
	return out, err
}

const (
	readShown = 20      // messages that were read and that an inbox still shows
	bodyShown = 2 << 10 // bytes of a body that an inbox shows
)

// Inbox returns the unread messages of an agent, by name or id, and the last that it
// has read, oldest first. Of long bodies it holds the beginning.
func (r Record) Inbox(name string) ([]mailbox.Trace, error) {
	t, err := roster.New(r.Agents).Find(name)
	if err != nil {
		return nil, err
	}
	all, err := r.Store.Received(t.ID())
	if err != nil {
		return nil, err
	}
	read := 0
	var shown []mailbox.Trace
	for _, m := range slices.Backward(all) {
		if !m.Unread() {
			if read++; read > readShown {
				continue
			}
		}
		m.Envelope.Body = mailbox.Cut(m.Envelope.Body, bodyShown)
		shown = append(shown, m)
	}
	slices.Reverse(shown)
	return shown, nil
}

// Hosts returns the agents of a store that have processes and journals of their own.
func Hosts(store *transcript.Store) []mailbox.AgentID {
	var ids []mailbox.AgentID
	for _, t := range store.All() {
		if w := t.Spec().Where; w == agent.InTmux || w == agent.InProcess {
			ids = append(ids, t.ID())
		}
	}
	return ids
}

// Dir returns the directory of an agent that has a process of its own, below that of
// its session.
func Dir(session string, host mailbox.AgentID) string {
	return filepath.Join(session, "nodes", string(host))
}

// Each queries several agents at once. An agent whose query fails is left out, so that
// the others can be shown.
func Each(hosts []mailbox.AgentID, query func(mailbox.AgentID) (Snapshot, error)) map[mailbox.AgentID]Snapshot {
	var mu sync.Mutex
	var group sync.WaitGroup
	all := map[mailbox.AgentID]Snapshot{}
	for _, id := range hosts {
		group.Go(func() {
			if out, err := query(id); err == nil {
				mu.Lock()
				defer mu.Unlock()
				all[id] = out
			}
		})
	}
	group.Wait()
	return all
}
