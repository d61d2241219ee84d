package swarm

import (
	"context"
	"errors"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/status"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// below are all agents of the session, those in other processes included.
func (n *nodes) below() archive.Tree {
	return archive.Tree{Record: archive.Record{Store: n.o.Store, Agents: n.c.Agents}, Query: func(id mailbox.AgentID, what, name string) (archive.Snapshot, error) {
		if what == archive.QueryNested {
			return archive.Snapshot{Nested: n.Nested(id)}, nil
		}
		return n.look(n.scope, id, what, name)
	}}
}

// Find implements team.Apart.
func (n *nodes) Find(name string, unknown error) (agent.Record, error) {
	a, _, err := n.below().Find(name, unknown)
	return a.Life, err
}

// All implements team.Apart.
func (n *nodes) All() ([]actors.Status, error) { return archive.NotKilled(n.staff(n.final()...)), nil }

// final returns the agents with processes of their own that have ended for good.
func (n *nodes) final() []mailbox.AgentID {
	return slices.DeleteFunc(archive.Hosts(n.o.Store), func(id mailbox.AgentID) bool {
		t, ok := n.o.Store.Get(id)
		return !ok || !actors.Final(t.Life())
	})
}

// Wake implements team.Apart. The process of a host that has none is started again
// and finds the message.
func (n *nodes) Wake(to agent.Record, by mailbox.AgentID) error { return n.wakeBelow(to, by, nil) }

// wakeBelow is Wake by an agent that may be on record neither here nor there: then
// spec says who it is.
func (n *nodes) wakeBelow(to agent.Record, by mailbox.AgentID, spec *agent.Spec) error {
	id := to.Spec.ID
	_, host, err := n.below().Find(string(id), &agent.UnknownError{Name: string(id)})
	if err != nil {
		return err
	}
	if n.known(host) != nil {
		ctx, cancel := context.WithTimeout(n.scope, askNodeWithin)
		defer cancel()
		_, err = askWorker(ctx, n, host, workerapi.DoWakeBelow, workerapi.WakeIn{Name: string(id), By: by, Spec: spec})
		if errors.Is(err, context.DeadlineExceeded) && !to.Closed {
			return nil // it reads the message when its process goes on, or that is answered for
		}
		return err
	}
	switch t, ok := n.o.Store.Get(host); {
	case ok && actors.Final(t.Life()):
		return &actors.FinalError{Name: agent.DisplayName(to.Spec), Reason: t.Life().Reason}
	case !ok || t.Life().Closed || to.Closed:
		return n.noProcess(to, host)
	}
	n.c.Agents.EnsureProcess(host)
	return nil
}

// askBelow puts a request about an agent to the process that it lives in. unknown is
// the error if there is no such agent.
func (n *nodes) askBelow(ctx context.Context, name string, method rpc.Method[workerapi.NameIn, rpc.None], unknown error) (actors.Status, error) {
	a, host, err := n.below().Find(name, unknown)
	if err != nil {
		return a, err
	}
	if n.known(host) == nil {
		return a, n.noProcess(a.Life, host)
	}
	_, err = askWorker(ctx, n, host, method, workerapi.NameIn{Name: string(a.Life.Spec.ID)})
	return a, err
}

// noProcess is why nothing can be done about an agent now.
func (n *nodes) noProcess(l agent.Record, host mailbox.AgentID) error {
	return &agent.NoProcessError{Name: agent.DisplayName(l.Spec), Host: n.below().DisplayName(host)}
}

// owesBelow reports mail on its way to an agent in the process of another that is
// to read it.
func (n *nodes) owesBelow() bool {
	pending := n.o.Store.Pending()
	n.mu.Lock()
	defer n.mu.Unlock()
	for host, staff := range n.staffs {
		for _, s := range staff {
			to := func(e mailbox.Envelope) bool { return e.To.Agent == s.Life.Spec.ID }
			if n.seats[host] != nil && !s.Life.Closed && slices.ContainsFunc(pending, to) {
				return true
			}
		}
	}
	return false
}

// Agents returns how all agents of the session are, those in other processes included.
func (n *nodes) Agents() []actors.Status {
	return status.Complete(append(n.c.Agents.Status(), n.staff()...))
}

// Agent returns how one agent is, by name, team/name or id.
func (n *nodes) Agent(name string) (actors.Status, error) {
	t, err := n.c.Roster.Find(name)
	if err == nil {
		return archive.StatusOf(n.Agents(), t.ID())
	}
	a, _, err := n.below().Find(name, err)
	return a, err
}
