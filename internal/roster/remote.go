package roster

import (
	"cmp"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// RemoteDirectory leads to the agents that live in other processes and are on record there
// alone. Its methods may be called from any goroutine.
type RemoteDirectory interface {
	// Find returns the agent that a name, an id or team/name means. Unknown is the
	// error without them; if none of them is meant either, it says what there is.
	Find(name string, unknown error) (agent.Record, error)
	// All returns how they are, but for those that were killed, and besides those that
	// are on record here and live elsewhere. The error says why some may be left out.
	All() ([]actors.Status, error)
	// Wake sees to it that an agent reads what by is about to write to it, also one
	// that has ended. The error says why it will not.
	Wake(to agent.Record, by mailbox.AgentID) error
}

// ConnectRemote lets messages go to agents in other processes. It is called before the
// first Send.
func (r *Roster) ConnectRemote(a RemoteDirectory) { r.remote = a }

// postRemote is message for an agent that is not on record here; unknown is the error
// if nobody is meant.
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

// orRemote says of a name that nobody on record here has, as unknown does, whether it is
// that of an agent in another process.
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
