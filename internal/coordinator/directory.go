package coordinator

import (
	"slices"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/registry"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// directory finds the agents of a session by name, and knows how they are related.
type directory struct {
	store    *transcript.Store
	registry *registry.Registry
	policy   spawn.Policy
	owner    Owner // nil but in the node of one agent
}

// Find returns the agent that a name or id means. Case is ignored. Of several
// with a name it is one of the session's team, else the oldest.
func (d *directory) Find(name string) (*transcript.Transcript, bool) {
	all := d.Named(name)
	if len(all) == 0 {
		return nil, false
	}
	return all[0], true
}

// Named returns the agents that have a name or id: those of the session's team
// first. An agent that has ended for good is returned only if no other has the name, and
// then the last of them.
func (d *directory) Named(name string) []*transcript.Transcript {
	all := d.registry.Named(name)
	if d.owner == nil || slices.ContainsFunc(all, func(t *transcript.Transcript) bool { return !d.isAtOwner(t) || string(t.ID()) == name }) {
		return all
	}
	if there := d.owner.Find(name); len(there) > 0 {
		return there // the agents that have the name now
	}
	return all
}

// transcript returns the transcript of an agent. The error is an *agent.UnknownError.
func (d *directory) transcript(id mailbox.AgentID) (*transcript.Transcript, error) {
	t, ok := d.store.Get(id)
	if !ok {
		return nil, &agent.UnknownError{Name: string(id)}
	}
	return t, nil
}

// NewID returns an id that no agent of the session has. It begins with name, as
// far as an id can, so that people can distinguish agents and type their ids.
func (d *directory) NewID(name string) mailbox.AgentID { return d.registry.NewID(name) }

// IsRemoved reports whether an agent has ended for good and its name was released.
func (d *directory) IsRemoved(s agent.Spec) bool { return d.registry.IsReleased(s) }

// MadeBy returns the agent that a tool call of parent has made or woken, if it
// has. answer counts the parent's answers up to the one with the call.
func (d *directory) MadeBy(parent mailbox.AgentID, answer int, call string) (mailbox.AgentID, bool) {
	return d.registry.MadeBy(parent, answer, call)
}

// Home returns the team in which an agent works: its first, or that of the
// nearest above it that has one.
func (d *directory) Home(s agent.Spec) agent.Membership { return d.registry.Home(s) }

// MayControl reports whether from may send control messages to an agent: the
// user, the lead, the lead of a team that it is in, the agent that started it, and the
// one that woke it.
func (d *directory) MayControl(from mailbox.AgentID, l agent.Record) bool {
	return d.registry.MayControl(from, l)
}

// Teams returns the teams of an agent as Policy.Teams does.
func (d *directory) Teams(s agent.Spec) []agent.Membership {
	return d.policy.Teams(s)
}

// IsFinal reports whether an agent has ended for good.
func (d *directory) IsFinal(id mailbox.AgentID) bool {
	t, ok := d.store.Get(id)
	if !ok {
		return false
	}
	l := t.Record()
	return l.Closed && l.Reason == turn.ErrKilled.Error()
}

func (d *directory) nameOf(id mailbox.AgentID) string {
	t, ok := d.store.Get(id)
	switch {
	case id == agent.UserID:
		return "the user"
	case !ok:
		return string(id)
	}
	return agent.DisplayName(t.Spec())
}

// currentRecord returns the record of an agent from the process that hosts it, which
// may be the session's owner.
func (d *directory) currentRecord(t *transcript.Transcript) (agent.Record, error) {
	if d.isAtOwner(t) {
		return d.owner.Record(t.ID())
	}
	return t.Record(), nil
}

// isAtOwner reports whether the session's owner hosts an agent, and this process is a
// worker.
func (d *directory) isAtOwner(t *transcript.Transcript) bool {
	return d.owner != nil && t.Spec().Where == agent.InOwner
}

// isSelf reports whether an agent is the one whose node this is.
func (d *directory) isSelf(t *transcript.Transcript) bool {
	return d.owner != nil && d.owner.Self() == t.ID()
}
