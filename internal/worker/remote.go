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

// remoteAgents are the agents outside of this process. The owner of the session knows
// them all.
type remoteAgents struct{ worker *Worker }

// Find implements roster.Apart.
func (o remoteAgents) Find(name string, _ error) (agent.Record, error) {
	all, err := o.worker.find(name)
	switch {
	case err != nil:
		return agent.Record{}, err
	case len(all) == 0:
		return agent.Record{}, &agent.UnknownError{Name: name}
	}
	return all[0].Record(), nil
}

// All implements roster.Apart.
func (o remoteAgents) All() ([]actors.Status, error) {
	out, err := callOwner(o.worker.scope, o.worker, workerapi.UpListAgents, workerapi.LaunchIn{Launch: o.worker.options.Launch})
	if err != nil || out.Snapshot == nil {
		return nil, err
	}
	return out.Snapshot.Nested, nil
}

// Wake implements roster.Apart.
func (o remoteAgents) Wake(to agent.Record, by mailbox.AgentID) error {
	return o.worker.Reopen(to.Spec.ID, by)
}

// peerSessions are the other sessions. Mail to one goes to its member in the owner's
// process, which sends it on and asks the user if that is required.
type peerSessions struct{ worker *Worker }

// Reach implements roster.Sessions.
func (x peerSessions) Reach(to string, l team.Message) (*transcript.Transcript, error) {
	if err := peer.CheckSize(l); err != nil {
		return nil, err
	}
	all, err := x.worker.registerFound(callOwner(x.worker.scope, x.worker, workerapi.UpFindSession, workerapi.FindSessionIn{Name: to, Launch: x.worker.options.Launch, Kind: l.Kind, Class: l.Class}))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, team.ErrNoSession
	}
	return all[0], nil
}

// Sessions implements roster.Sessions.
func (x peerSessions) Near(most int) []team.OtherSession {
	out, err := callOwner(x.worker.scope, x.worker, workerapi.UpListSessions, workerapi.ListSessionsIn{Launch: x.worker.options.Launch, Max: most})
	if err != nil {
		x.worker.options.Logger.Warn("the other sessions could not be listed", "error", err)
	}
	return out.Sessions
}
