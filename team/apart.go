package team

import (
	"cmp"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// Apart leads to the agents that live in the process of another agent and are on
// record there alone. Its methods may be called from any goroutine.
type Apart interface {
	// Find returns the agent that a name, an id or team/name means. Unknown is the
	// error without them; if none of them is meant either, it says what there is.
	Find(name string, unknown error) (transcript.Life, error)
	// All returns those that have not been ended for good.
	All() []actors.Status
	// Wake sees to it that an agent reads what by is about to write to it, also one
	// that has ended. The error says why it will not.
	Wake(to transcript.Life, by mailbox.AgentID) error
}

// ConnectApart lets letters go to agents in other processes. It is called before the
// first Send.
func (r *Roster) ConnectApart(a Apart) { r.apart = a }

// postApart is letter for an agent that is not on record here; unknown is the error
// if nobody is meant.
func (r *Roster) postApart(from *transcript.Transcript, l Letter, unknown error) ([]Posted, error) {
	plain, life := incarnationOf(l.To)
	to, err := r.apart.Find(plain, unknown)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(isPresent(to, life), r.check(from, to, l)); err != nil {
		return nil, err
	}
	if err := r.apart.Wake(to, from.ID()); err != nil {
		return nil, err
	}
	p := r.post(from, to, l)
	return []Posted{p}, p.Err
}

// broadcastApart is broadcast for the agents that are not on record here.
func (r *Roster) broadcastApart(from *transcript.Transcript, l Letter) (all []Posted) {
	if r.apart == nil {
		return nil
	}
	for _, s := range r.audience(from.Spec(), r.apart.All()) {
		switch name := actors.DisplayName(s.Life.Spec); {
		case !s.Life.Closed:
			all = append(all, r.post(from, s.Life, l))
		case s.Life.Spec.Role == transcript.Teammate:
			all = append(all, Posted{Name: name, Err: &EndedError{Name: name, Reason: s.Life.Reason}})
		}
	}
	return all
}
