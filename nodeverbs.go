package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// askWorker puts a request to the process of an agent.
func askWorker[In, Out any](ctx context.Context, n *nodes, id mailbox.AgentID, m rpc.Method[In, Out], in In) (out Out, err error) {
	conn, err := n.c.Bus.Served(ctx)
	if err != nil {
		return out, err
	}
	client := rpc.NewClient(conn, workerapi.WorkerSubject(n.o.Record.Get().ID).From(string(id)), rpc.ClientOptions{
		Errors: workerapi.WorkerErrors(),
		Failed: func(method string, err error) error {
			return fmt.Errorf("ask the process of %s to %s: %w", id, method, err)
		},
	})
	return rpc.Call(ctx, client, m, in)
}

// Stop implements actors.RemoteAgents. A process that does not end its agents in
// time is killed, and they are ended on its record.
func (n *nodes) Stop(ctx context.Context, id mailbox.AgentID, cause error) error {
	ending := n.endingOf(id)
	final := ending != nil || errors.Is(cause, turn.ErrKilled)
	s := n.known(id)
	if s == nil {
		s = n.awaitedSoon(ctx, id)
	}
	if s == nil {
		if err := n.evict(ctx, n.lock(id)); err != nil {
			return err
		}
		return n.conclude(ctx, id, cause, final)
	}
	asked := n.askToEnd(ctx, s, cause, ending)
	if asked != nil {
		n.o.Logger.Warn("the process of an agent did not stop it and is killed", "agent", id, "error", asked)
	}
	if err := n.vacate(ctx, s); err != nil {
		return err
	}
	if asked == nil && !final {
		n.forget(id)
		return nil
	}
	return n.conclude(ctx, id, cause, final)
}

func (n *nodes) askToEnd(ctx context.Context, s *seat, cause error, ending *protocol.Shutdown) error {
	n.mu.Lock()
	s.leaving = true
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	method := workerapi.DoStop
	if errors.Is(cause, turn.ErrKilled) {
		method = workerapi.DoKill
	}
	out, err := askWorker(ctx, n, s.spec.ID, method, workerapi.EndIn{Cause: cause.Error(), Ending: ending})
	if err != nil {
		return err
	}
	return n.follow(s.spec.ID, out)
}

// awaitedSoon is awaited for somebody who ends the process otherwise.
func (n *nodes) awaitedSoon(ctx context.Context, id mailbox.AgentID) *seat {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	return n.awaited(ctx, id)
}

// endBelow ends an agent that lives in the process of another, with all that work
// for it. err is what it is if there is none.
func (n *nodes) endBelow(ctx context.Context, name string, cause, err error) ([]actors.Ended, error) {
	a, host, err := n.below().Find(name, err)
	if err != nil {
		return nil, err
	}
	if n.known(host) == nil {
		return nil, n.noProcess(a.Life, host)
	}
	method := workerapi.DoStopBelow
	if errors.Is(cause, turn.ErrKilled) {
		method = workerapi.DoKillBelow
	}
	out, err := askWorker(ctx, n, host, method, workerapi.EndIn{Name: string(a.Life.Spec.ID), Cause: cause.Error()})
	return out.Ended, err
}

// endingOf returns the shutdown that an agent is ended by, if one is.
func (n *nodes) endingOf(id mailbox.AgentID) *protocol.Shutdown {
	t, ok := n.o.Store.Get(id)
	if !ok {
		return nil
	}
	if s := t.Life().Shutdown; s.Leaving() {
		return &s
	}
	return nil
}

// follow takes over what a process has said of its agent in an answer.
func (n *nodes) follow(id mailbox.AgentID, r workerapi.LifeOut) error {
	t, ok := n.o.Store.Get(id)
	if !ok || r.Life == nil {
		return nil
	}
	return n.c.Agents.Update(t.ID(), *r.Life)
}

// DecidePlan implements actors.RemoteAgents.
func (n *nodes) DecidePlan(ctx context.Context, id, by mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	out, err := askWorker(ctx, n, id, workerapi.DoPlan, workerapi.PlanIn{By: by, Plan: &r, Key: key})
	if err != nil {
		return err
	}
	return n.follow(id, out)
}

// Idle implements actors.RemoteAgents.
func (n *nodes) Idle(ctx context.Context, id mailbox.AgentID) bool {
	if n.known(id) == nil {
		return !executor.Held(n.lock(id))
	}
	ctx, cancel := context.WithTimeout(ctx, askNodeWithin)
	defer cancel()
	r, err := askWorker(ctx, n, id, workerapi.DoQuiet, workerapi.LaunchIn{})
	return err == nil && r.Quiet
}

// Interrupt implements actors.RemoteAgents.
func (n *nodes) Interrupt(id mailbox.AgentID) {
	n.begun(func() {
		ctx, cancel := context.WithTimeout(n.scope, askNodeWithin)
		defer cancel()
		if _, err := askWorker(ctx, n, id, workerapi.DoInterrupt, workerapi.LaunchIn{}); err != nil {
			n.o.Logger.Warn("an agent could not be interrupted", "agent", id, "error", err)
		}
	})
}

// Compact implements actors.RemoteAgents.
func (n *nodes) Compact(ctx context.Context, id mailbox.AgentID) error {
	_, err := askWorker(ctx, n, id, workerapi.DoCompact, workerapi.LaunchIn{})
	return err
}

// Snapshot implements actors.RemoteAgents.
func (n *nodes) Snapshot(id mailbox.AgentID) (actors.Snapshot, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.seats[id]
	if s == nil {
		return actors.Snapshot{}, false
	}
	state := s.said.State
	if s.stuck.Name != "" {
		state = s.stuck
	}
	return actors.Snapshot{State: state, Running: s.said.Running, Unread: s.said.Unread}, true
}

// Quiet implements actors.RemoteAgents. Mail between two nodes could be behind the
// look at each; two looks that saw the same moves saw none under way.
func (n *nodes) Quiet(ctx context.Context) bool {
	if n.owesBelow() {
		return false
	}
	first, ok := n.still(ctx)
	if !ok {
		return false
	}
	again, ok := n.still(ctx)
	return ok && slices.Equal(first, again)
}

func (n *nodes) still(ctx context.Context) (moves []uint64, quiet bool) {
	ctx, cancel := context.WithTimeout(ctx, askNodeWithin)
	defer cancel()
	n.mu.Lock()
	ids := make([]mailbox.AgentID, 0, len(n.seats))
	for id := range n.seats {
		ids = append(ids, id)
	}
	n.mu.Unlock()
	slices.Sort(ids)
	for _, id := range ids {
		r, err := askWorker(ctx, n, id, workerapi.DoQuiet, workerapi.LaunchIn{})
		if err != nil || !r.Quiet {
			return nil, false
		}
		moves = append(moves, r.Moves)
	}
	return moves, true
}

// questions returns what the agents in other processes ask a person.
func (n *nodes) questions() []event.Question {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []event.Question
	for _, s := range n.seats {
		all = append(all, s.said.Questions...)
	}
	return all
}

// asker returns the agent in another process that has asked a question.
func (n *nodes) asker(id string) (mailbox.AgentID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for agent, s := range n.seats {
		if slices.ContainsFunc(s.said.Questions, func(q event.Question) bool { return q.ID == id }) {
			return agent, true
		}
	}
	return "", false
}

// settle passes on a person's answer. It returns when it is on disk there.
func (n *nodes) settle(id mailbox.AgentID, question string, a event.Answer) error {
	ctx, cancel := context.WithTimeout(n.scope, askNodeWithin)
	defer cancel()
	_, err := askWorker(ctx, n, id, workerapi.DoAnswer, workerapi.AnswerIn{Name: question, Answer: &a})
	return err
}
