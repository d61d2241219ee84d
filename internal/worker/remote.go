package worker

import (
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// others are the agents that live outside a node's process, as the worker reaches them.
// The owner of the session knows them all.
type others struct{ w *Worker }

// Find implements team.Apart.
func (o others) Find(name string, _ error) (agent.Record, error) {
	all, err := o.w.find(name)
	switch {
	case err != nil:
		return agent.Record{}, err
	case len(all) == 0:
		return agent.Record{}, &agent.UnknownError{Name: name}
	}
	return all[0].Life(), nil
}

// All implements team.Apart.
func (o others) All() ([]actors.Status, error) {
	out, err := askOwner(o.w.scope, o.w, workerapi.UpOthers, workerapi.LaunchIn{Launch: o.w.o.Launch})
	if err != nil || out.Sight == nil {
		return nil, err
	}
	return out.Sight.Nested, nil
}

// Wake implements team.Apart.
func (o others) Wake(to agent.Record, by mailbox.AgentID) error { return o.w.Reopen(to.Spec.ID, by) }

// sessions are the other sessions, as a node reaches them: mail to one goes to the
// member that stands for it in the process of the owner, which passes it on and asks
// the user where that is to be asked.
type sessions struct{ w *Worker }

// Reach implements team.Sessions.
func (x sessions) Reach(to string, l team.Letter) (*transcript.Transcript, error) {
	if err := peer.Fits(l); err != nil {
		return nil, err
	}
	all, err := x.w.met(askOwner(x.w.scope, x.w, workerapi.UpSession, workerapi.SessionIn{Name: to, Launch: x.w.o.Launch, Kind: l.Kind, Class: l.Class}))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, team.ErrNoSession
	}
	return all[0], nil
}

// Near implements team.Sessions.
func (x sessions) Near(most int) []team.Neighbour {
	out, err := askOwner(x.w.scope, x.w, workerapi.UpNear, workerapi.NearIn{Launch: x.w.o.Launch, Most: most})
	if err != nil {
		x.w.o.Logger.Warn("the other sessions could not be listed", "error", err)
	}
	return out.Near
}
