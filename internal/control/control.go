package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// Options are the parts of a session. All but Fleet are required.
type Options struct {
	Scope  context.Context // of the session
	Agents *coordinator.Coordinator
	Roster *roster.Roster
	Store  *transcript.Store
	// Detach lets the command that an agent waits for go on in the background, and
	// returns its name.
	Detach func(mailbox.AgentID) []string
	// Begin makes the lead, if there is none, and brings the agents to life.
	Begin func() error
	Fleet *fleet.Fleet // nil unless agents run in processes of their own
	// Grant adds allow rules to the session, or to the settings file that scope names.
	Grant func(rules []string, scope string) error
}

// Agents are the agents of a session, as its user steers them. Its methods may be called
// from any goroutine.
type Agents struct{ o Options }

// New returns the agents of a session.
func New(o Options) *Agents { return &Agents{o} }

// All returns how every agent is, oldest first.
func (a *Agents) All() []actors.Status {
	if a.o.Fleet != nil {
		return a.o.Fleet.Agents()
	}
	return a.o.Agents.Status()
}

// Find returns how one agent is.
func (a *Agents) Find(name string) (actors.Status, error) {
	if a.o.Fleet != nil {
		return a.o.Fleet.Agent(name)
	}
	t, err := a.o.Roster.Find(name)
	if err == nil {
		return archive.StatusOf(a.All(), t.ID())
	}
	s, _, err := a.Tree().Find(name, err)
	return s, err
}

// Tree returns all agents with their mail.
func (a *Agents) Tree() archive.Tree {
	if a.o.Fleet == nil {
		return archive.Tree{Record: archive.Record{Store: a.o.Store, Agents: a.o.Agents}}
	}
	return a.o.Fleet.Tree()
}

// askNested puts a request about an agent to the process of another one that it lives
// in. unknown is the error if there is no such agent.
func (a *Agents) askNested(ctx context.Context, name string, m rpc.Method[workerapi.NameIn, rpc.None], unknown error) (actors.Status, error) {
	if a.o.Fleet == nil {
		return actors.Status{}, unknown
	}
	return a.o.Fleet.Directory().Call(ctx, name, m, unknown)
}

// Interrupt ends the turn of an agent with what it waits for, and reports whether there
// was one. Its next message starts another one.
func (a *Agents) Interrupt(name string) (bool, error) {
	t, err := a.o.Roster.Find(name)
	if err != nil {
		s, err := a.askNested(a.o.Scope, name, workerapi.DoInterruptNested, err)
		return s.Running, err
	}
	return a.interrupt(t.ID()), nil
}

// InterruptLead is Interrupt for the lead.
func (a *Agents) InterruptLead() bool { return a.interrupt(agent.LeadID) }

func (a *Agents) interrupt(id mailbox.AgentID) bool {
	if !a.isRunning(id) {
		return false // a lead at rest is not held back from the reports it waits for
	}
	a.o.Agents.Interrupt(id)
	return true
}

// LeadRuns reports whether the lead is in a turn.
func (a *Agents) LeadRuns() bool { return a.isRunning(agent.LeadID) }

func (a *Agents) isRunning(id mailbox.AgentID) bool {
	return slices.ContainsFunc(a.o.Agents.Status(), func(s actors.Status) bool { return s.Record.Spec.ID == id && s.Running })
}

// StopLead ends the turn of the lead and waits until it has ended, for a while.
func (a *Agents) StopLead(within time.Duration) error {
	a.o.Agents.Interrupt(agent.LeadID)
	ctx, cancel := context.WithTimeout(a.o.Scope, within)
	defer cancel()
	if err := a.o.Agents.Rest(ctx, agent.LeadID); err != nil {
		return fmt.Errorf("the lead's turn does not stop: %w", err)
	}
	return nil
}

// Background lets a running foreground agent go on in the background.
func (a *Agents) Background(name string) error {
	t, err := a.o.Roster.Find(name)
	if err != nil {
		_, err = a.askNested(a.o.Scope, name, workerapi.DoBackgroundNested, err)
		return err
	}
	return a.o.Agents.Background(t.ID())
}

// BackgroundAll lets everything that the lead waits for go on in the background: its
// foreground agents and the command that it runs itself. It returns what was moved, by
// name.
func (a *Agents) BackgroundAll() []string {
	var moved []string
	for _, s := range a.o.Agents.Status() {
		spec := s.Record.Spec
		if spec.Parent != agent.LeadID || spec.Role != agent.Foreground || s.Record.Closed {
			continue
		}
		if a.o.Agents.Background(spec.ID) == nil { // it may have ended meanwhile
			moved = append(moved, agent.DisplayName(spec))
		}
	}
	return append(moved, a.o.Detach(agent.LeadID)...)
}

// Compact replaces the older part of an agent's conversation by a summary that its model
// makes. It returns when that is recorded.
func (a *Agents) Compact(ctx context.Context, name string) error {
	ctx, cancel := node.JoinContexts(ctx, a.o.Scope)
	defer cancel()
	t, err := a.o.Roster.Find(name)
	if err != nil {
		_, err = a.askNested(ctx, name, workerapi.DoCompactNested, err)
		return err
	}
	return a.o.Agents.Compact(ctx, t.ID())
}

// Questions returns what the agents ask the user now, the oldest first.
func (a *Agents) Questions() []event.Question {
	all := a.o.Agents.Questions()
	if a.o.Fleet == nil {
		return all
	}
	all = append(all, a.o.Fleet.Questions()...)
	slices.SortStableFunc(all, func(a, b event.Question) int { return a.Asked.Compare(b.Asked) })
	return all
}

// grant adds the rules of a question of an agent in another process, if they are allowed
// for always. Rules are the owner's.
func (a *Agents) grant(id string, said event.Answer) error {
	questions := a.o.Fleet.Questions()
	i := slices.IndexFunc(questions, func(q event.Question) bool { return q.ID == id })
	if i < 0 || !said.Always {
		return nil
	}
	if err := ask.Check(questions[i], said); err != nil {
		return err
	}
	return a.o.Grant(questions[i].Rules, said.Scope)
}

// Answer answers a question. It returns when the answer is on disk.
func (a *Agents) Answer(id string, said event.Answer) error {
	if a.o.Fleet != nil {
		if asker, ok := a.o.Fleet.Asker(id); ok {
			if err := a.grant(id, said); err != nil {
				return err
			}
			return a.o.Fleet.Answer(asker, id, said)
		}
	}
	err := a.o.Agents.Answer(id, said)
	if errors.As(err, new(*event.UnknownQuestionError)) || errors.As(err, new(*event.ResolvedQuestionError)) {
		a.o.Agents.Refused(agent.UserID, "an answer to the question "+id, err)
	}
	return err
}
