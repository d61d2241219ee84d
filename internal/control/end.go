package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
)

// End ends an agent. It returns when nothing of it runs.
func (a *Agents) End(ctx context.Context, name string, cause error) error {
	t, err := a.o.Roster.Find(name)
	if err != nil {
		_, err = a.endNested(ctx, name, cause, err)
		return err
	}
	return a.o.Agents.Stop(ctx, t.ID(), cause)
}

// EndTree is End for an agent and all that work for it, whatever their links. It
// returns what became of each.
func (a *Agents) EndTree(ctx context.Context, name string, cause error) ([]actors.Ended, error) {
	t, err := a.o.Roster.Find(name)
	if err != nil {
		return a.endNested(ctx, name, cause, err)
	}
	return a.o.Agents.StopTree(ctx, t.ID(), cause)
}

// endNested ends an agent that lives in the process of another, with all that work for
// it. unknown is the error if there is no such agent.
func (a *Agents) endNested(ctx context.Context, name string, cause, unknown error) ([]actors.Ended, error) {
	if a.o.Fleet == nil {
		return nil, unknown
	}
	return a.o.Fleet.Directory().End(ctx, name, cause, unknown)
}

// ShutDown asks an agent to end within the grace time, which it may refuse once, and
// then ends it for good with all that work for it.
func (a *Agents) ShutDown(ctx context.Context, name string, grace time.Duration) (actors.ShutdownResult, error) {
	if err := a.o.Begin(); err != nil {
		return actors.ShutdownResult{Name: name}, err
	}
	user, ok := a.o.Store.Get(agent.UserID)
	if !ok {
		return actors.ShutdownResult{Name: name}, archive.ErrNoOutbox
	}
	return a.o.Roster.ShutDown(ctx, user.ID(), name, actors.ShutdownOptions{Grace: grace, Reason: "the user asks for it"})
}

// Down is ShutDown for several agents at once. One that objects is asked a second time,
// which it cannot refuse, with what is left of the grace time. Without names it is
// everybody but the lead. It returns those that are gone.
func (a *Agents) Down(ctx context.Context, names []string, grace time.Duration) ([]actors.ShutdownResult, error) {
	if len(names) == 0 {
		names = a.removable()
	}
	until := time.Now().Add(grace)
	all, errs := make([]actors.ShutdownResult, len(names)), make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			all[i], errs[i] = a.ShutDown(ctx, name, grace)
			if objection := all[i].Objection; errs[i] == nil && !all[i].Gone {
				all[i], errs[i] = a.ShutDown(ctx, name, time.Until(until))
				all[i].Objection = objection
			}
		})
	}
	group.Wait()
	var gone []actors.ShutdownResult
	for i, d := range all {
		if errs[i] == nil {
			gone = append(gone, d)
		}
	}
	return gone, errors.Join(errs...)
}

// removable returns the ids of all that a user can shut down and that work for nobody
// who is shut down too: the teammates, also those that a message would wake, and what
// works for the lead.
func (a *Agents) removable() []string {
	var ids []string
	for _, s := range a.o.Agents.Status() {
		switch l := s.Record; {
		case l.Shutdown.Leaving(), l.Spec.Role == agent.Lead:
		case l.Spec.Role == agent.Teammate, l.Spec.Parent == agent.LeadID && !l.Closed:
			ids = append(ids, string(l.Spec.ID))
		}
	}
	return ids
}
