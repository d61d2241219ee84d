package roster

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/team"
)

// Roster knows the agents of a session by name.
type Roster struct {
	agents   *coordinator.Coordinator
	sessions Sessions        // nil if none can be reached
	remote   RemoteDirectory // nil if all agents are on record
	hooks    TaskHooks       // nil if there are none
}

// New returns the roster of a session's agents.
func New(c *coordinator.Coordinator) *Roster { return &Roster{agents: c} }

// Find returns the one agent that a name of the user's means, as Reach does. It may have
// ended.
func (r *Roster) Find(name string) (*transcript.Transcript, error) {
	return r.Reach(agent.Spec{Role: agent.User}, name)
}

// named returns the agent with a name or an id.
func (r *Roster) named(name string) (*transcript.Transcript, error) {
	switch strings.ToLower(name) {
	case agent.LeadName, "main", "lead":
		name = string(agent.LeadID)
	}
	t, ok := r.agents.Find(name)
	if !ok || t.Spec().Role == agent.User {
		return nil, r.unknown(name)
	}
	return t, nil
}

func (r *Roster) unknown(name string) error {
	e := &team.UnknownAgentError{Name: name}
	for _, m := range writable(r.agents.Status()) {
		e.Known = append(e.Known, agent.DisplayName(m.Record.Spec))
	}
	slices.Sort(e.Known)
	e.Suggestions = agent.Suggest(name, e.Known)
	return e
}

// Members returns the agents to which messages can be sent: the lead, the teammates and
// every agent that has not ended, oldest first and those in other processes last. The error
// is why some may be missing.
func (r *Roster) Members() ([]actors.Status, error) {
	all, err := r.all()
	return writable(all), err
}

func writable(all []actors.Status) []actors.Status {
	return slices.DeleteFunc(all, func(s actors.Status) bool { return s.Record.Closed || s.Record.Spec.Role == agent.User })
}

// receivers is Members with the teammates that have ended and were not dismissed.
func (r *Roster) receivers() ([]actors.Status, error) {
	all, err := r.all()
	return slices.DeleteFunc(all, func(s actors.Status) bool {
		l := s.Record
		dismissed := l.Spec.Role != agent.Teammate || l.Shutdown.Leaving() || r.agents.IsRemoved(l.Spec)
		return l.Spec.Role == agent.User || l.Closed && dismissed
	}), err
}

// all returns the agents of the session, including those in other processes.
func (r *Roster) all() ([]actors.Status, error) {
	all := r.agents.Status()
	if r.remote == nil {
		return all, nil
	}
	apart, err := r.remote.All()
	for _, s := range apart {
		if at := slices.IndexFunc(all, func(a actors.Status) bool { return a.Record.Spec.ID == s.Record.Spec.ID }); at >= 0 {
			all[at] = s
		} else {
			all = append(all, s)
		}
	}
	return all, err
}
