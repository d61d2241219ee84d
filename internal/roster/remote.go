package roster

import (
	"cmp"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// RemoteDirectory finds the agents that live in other processes and have no record here.
// Its methods may be called from any goroutine.
type RemoteDirectory interface {
	// Find returns the agent with a name, an id or team/name. unknown is the error of the
	// agents on record here, and Find adds those that it knows.
	Find(name string, unknown error) (agent.Record, error)
	// All returns the status of these agents, without those that were killed, and of the
	// agents on record here that live elsewhere. The error is why some may be missing.
	All() ([]actors.Status, error)
	// Wake makes an agent read what by is about to send it, even if it has ended. The error
	// is why it cannot.
	Wake(to agent.Record, by mailbox.AgentID) error
}

// ConnectRemote makes agents in other processes reachable. It is called before the first
// Send.
func (r *Roster) ConnectRemote(a RemoteDirectory) { r.remote = a }

// postRemote posts a message to an agent without a record here; unknown is the error if
// there is none.
func (r *Roster) postRemote(from *transcript.Transcript, l team.Message, unknown error) ([]posted, error) {
	plain, life := incarnationOf(l.To)
	to, err := r.remote.Find(plain, unknown)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(isPresent(to, life), r.check(from, to, l)); err != nil {
		return nil, err
	}
	if err := r.remote.Wake(to, from.ID()); err != nil {
		return nil, err
	}
	p := r.enqueue(from, to, l)
	return []posted{p}, p.Err
}

// orRemote returns the error for a name that no agent on record has: a
// *team.RemoteAgentError if an agent in another process has it, otherwise unknown.
func (r *Roster) orRemote(name string, unknown error) error {
	if r.remote == nil || !team.IsUnknown(unknown) {
		return unknown
	}
	l, err := r.remote.Find(name, unknown)
	if err != nil {
		return err
	}
	return &team.RemoteAgentError{Name: agent.DisplayName(l.Spec), With: l.Spec.Parent}
}
