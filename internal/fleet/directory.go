package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// Tree returns all agents of the session, including those in other processes.
func (f *Fleet) Tree() archive.Tree {
	return archive.Tree{Record: archive.Record{Store: f.options.Store, Agents: f.parts.Agents}, Query: func(id mailbox.AgentID, what, name string) (archive.Snapshot, error) {
		if what == archive.QueryNested {
			return archive.Snapshot{Nested: f.Nested(id)}, nil
		}
		return f.query(f.scope, id, what, name)
	}}
}

// Find implements roster.RemoteDirectory.
func (d Directory) Find(name string, unknown error) (agent.Record, error) {
	a, _, err := d.f.Tree().Find(name, unknown)
	return a.Record, err
}

// All implements roster.RemoteDirectory.
func (d Directory) All() ([]actors.Status, error) {
	return archive.NotKilled(d.all(d.final()...)), nil
}

// final returns the agents with processes of their own that have ended for good.
func (d Directory) final() []mailbox.AgentID {
	return slices.DeleteFunc(archive.Hosts(d.f.options.Store), func(id mailbox.AgentID) bool {
		t, ok := d.f.options.Store.Get(id)
		return !ok || !coordinator.Final(t.Record())
	})
}

// Wake implements team.Apart. If the host has no process, Wake starts one, which finds
// the message.
func (d Directory) Wake(to agent.Record, by mailbox.AgentID) error { return d.wakeBy(to, by, nil) }

// wakeBy is Wake by an agent that may be on record neither here nor in the host's
// process. spec then describes it.
func (d Directory) wakeBy(to agent.Record, by mailbox.AgentID, spec *agent.Spec) error {
	id := to.Spec.ID
	_, host, err := d.f.Tree().Find(string(id), &agent.UnknownError{Name: string(id)})
	if err != nil {
		return err
	}
	if d.f.proc(host) != nil {
		ctx, cancel := context.WithTimeout(d.f.scope, workerapi.RequestTimeout)
		defer cancel()
		_, err = callWorker(ctx, d.f, host, workerapi.DoWakeNested, workerapi.WakeIn{Name: string(id), By: by, Spec: spec})
		if errors.Is(err, context.DeadlineExceeded) && !to.Closed {
			return nil // the agent reads the message when its process continues
		}
		return err
	}
	switch t, ok := d.f.options.Store.Get(host); {
	case ok && coordinator.Final(t.Record()):
		return &actors.FinalError{Name: agent.DisplayName(to.Spec), Reason: t.Record().Reason}
	case !ok || t.Record().Closed || to.Closed:
		return d.noProcess(to, host)
	}
	d.f.parts.Agents.EnsureProcess(host)
	return nil
}

// Call makes a request about an agent to the process that the agent lives in. unknown
// is the error if there is no such agent.
func (d Directory) Call(ctx context.Context, name string, method rpc.Method[workerapi.NameIn, rpc.None], unknown error) (actors.Status, error) {
	a, host, err := d.f.Tree().Find(name, unknown)
	if err != nil {
		return a, err
	}
	if d.f.proc(host) == nil {
		return a, d.noProcess(a.Record, host)
	}
	_, err = callWorker(ctx, d.f, host, method, workerapi.NameIn{Name: string(a.Record.Spec.ID)})
	return a, err
}

// noProcess returns the error for an agent whose host has no process.
func (d Directory) noProcess(l agent.Record, host mailbox.AgentID) error {
	return &agent.NoProcessError{Name: agent.DisplayName(l.Spec), Host: d.f.Tree().DisplayName(host)}
}

// isOwedMail reports whether mail is in transit to an agent that lives in the process
// of another.
func (d Directory) isOwedMail() bool {
	pending := d.f.options.Store.Pending()
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	for host, nested := range d.f.lastNested {
		for _, s := range nested {
			to := func(e mailbox.Envelope) bool { return e.To.Agent == s.Record.Spec.ID }
			if d.f.procs[host] != nil && !s.Record.Closed && slices.ContainsFunc(pending, to) {
				return true
			}
		}
	}
	return false
}

// Agents returns the state of all agents of the session, including those in other
// processes.
func (f *Fleet) Agents() []actors.Status {
	return status.Complete(append(f.parts.Agents.Status(), f.Directory().all()...))
}

// Agent returns the state of an agent, by name, team/name or id.
func (f *Fleet) Agent(name string) (actors.Status, error) {
	t, err := f.parts.Roster.Find(name)
	if err == nil {
		return archive.StatusOf(f.Agents(), t.ID())
	}
	a, _, err := f.Tree().Find(name, err)
	return a, err
}

// Directory finds the agents that live in other processes. It implements team.Apart for
// the owner.
type Directory struct{ f *Fleet }

// Directory returns the directory of the agents in other processes.
func (f *Fleet) Directory() Directory { return Directory{f} }
