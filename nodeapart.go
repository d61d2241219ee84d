package swarm

import (
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// others are the agents that live outside a node's process, as the node reaches them.
// The owner of the session knows them all.
type others struct{ n *Node }

// Find implements team.Apart.
func (o others) Find(name string, _ error) (transcript.Life, error) {
	all, err := o.n.find(name)
	switch {
	case err != nil:
		return transcript.Life{}, err
	case len(all) == 0:
		return transcript.Life{}, &actors.UnknownAgentError{Name: name}
	}
	return all[0].Life(), nil
}

// All implements team.Apart.
func (o others) All() ([]actors.Status, error) {
	out, err := o.n.request("others", nodeCall{})
	if err != nil || out.Sight == nil {
		return nil, err
	}
	return out.Sight.Staff, nil
}

// Wake implements team.Apart.
func (o others) Wake(to transcript.Life, by mailbox.AgentID) error { return o.n.Wake(to.Spec.ID, by) }
