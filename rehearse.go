package swarm

import (
	"errors"
	"slices"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/session"
)

// Rehearsal says what a session with some options would make of its agent
// definitions and of calls for agents. Nothing is started or written and no
// model is asked. Its methods may be called from any goroutine.
type Rehearsal struct {
	session *Session
	lead    agent.Spec
}

// Rehearse reads what a session with these options would read. It needs no
// credentials: without a model the lead's is named by what it would default to.
func Rehearse(o Options) (*Rehearsal, error) {
	if err := o.settle(); err != nil {
		return nil, err
	}
	s := &Session{opts: o, record: session.NewFile(Info{})}
	if err := s.read(); err != nil {
		return nil, err
	}
	s.agents = actors.New(actors.Options{Store: new(transcript.Store), Policy: s.policy(), ToolNames: node.Offered(s.rules)})
	id, err := s.models.Default(o.Model)
	if none := (NoModelError{}); err != nil && !errors.As(err, &none) {
		return nil, err
	}
	return &Rehearsal{session: s, lead: node.LeadSpec(id, o.Mode, o.Dir, o.MaxTurns, slices.DeleteFunc(s.agents.ToolNames(), s.rules.Denies))}, nil
}

// Definitions returns the agent types that the session would have.
func (r *Rehearsal) Definitions() *defs.Set { return r.session.defs.Set() }

// Lead returns what the lead would be, who makes the call that Plan is about.
func (r *Rehearsal) Lead() agent.Spec { return r.lead }

// Tools returns the names of the tools that agents can be given.
func (r *Rehearsal) Tools() []string { return r.session.agents.ToolNames() }

// Plan returns what the session would make of a call of its lead, with the
// reason for each choice, or the error that the lead would get.
func (r *Rehearsal) Plan(c spawn.Call) (spawn.Plan, error) {
	return r.session.policy().Plan(r.session.defs.Set(), c, r.lead, r.Tools())
}
