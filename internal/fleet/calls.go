package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// askWorker puts a request to the process of an agent.
func askWorker[In, Out any](ctx context.Context, f *Fleet, id mailbox.AgentID, m rpc.Method[In, Out], in In) (out Out, err error) {
	conn, err := f.parts.Bus.Served(ctx)
	if err != nil {
		return out, err
	}
	client := rpc.NewClient(conn, workerapi.WorkerSubject(f.o.Record.Get().ID).From(string(id)), rpc.ClientOptions{
		Errors: workerapi.WorkerErrors(),
		Failed: func(method string, err error) error {
			return fmt.Errorf("ask the process of %s to %s: %w", id, method, err)
		},
	})
	return rpc.Call(ctx, client, m, in)
}

// Stop implements coordinator.RemoteAgents. A process that does not end its agents in
// time is killed, and they are ended on its record.
func (f *Fleet) Stop(ctx context.Context, id mailbox.AgentID, cause error) error {
	ending := f.endingOf(id)
	final := ending != nil || errors.Is(cause, turn.ErrKilled)
	s := f.proc(id)
	if s == nil {
		s = f.awaitSoon(ctx, id)
	}
	if s == nil {
		if err := f.killHolder(ctx, f.o.lock(id)); err != nil {
			return err
		}
		return f.finalize(ctx, id, cause, final)
	}
	asked := f.askToEnd(ctx, s, cause, ending)
	if asked != nil {
		f.o.Logger.Warn("the process of an agent did not stop it and is killed", "agent", id, "error", asked)
	}
	if err := f.release(ctx, s); err != nil {
		return err
	}
	if asked == nil && !final {
		f.forget(id)
		return nil
	}
	return f.finalize(ctx, id, cause, final)
}

func (f *Fleet) askToEnd(ctx context.Context, s *proc, cause error, ending *protocol.Shutdown) error {
	f.mu.Lock()
	s.leaving = true
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	method := workerapi.DoStop
	if errors.Is(cause, turn.ErrKilled) {
		method = workerapi.DoKill
	}
	out, err := askWorker(ctx, f, s.spec.ID, method, workerapi.EndIn{Cause: cause.Error(), Ending: ending})
	if err != nil {
		return err
	}
	return f.update(s.spec.ID, out)
}

// awaitSoon is awaited for somebody who ends the process otherwise.
func (f *Fleet) awaitSoon(ctx context.Context, id mailbox.AgentID) *proc {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	return f.await(ctx, id)
}

// End ends an agent that lives in the process of another, with all that work
// for it. err is what it is if there is none.
func (d Directory) End(ctx context.Context, name string, cause, err error) ([]actors.Ended, error) {
	a, host, err := d.f.Tree().Find(name, err)
	if err != nil {
		return nil, err
	}
	if d.f.proc(host) == nil {
		return nil, d.noProcess(a.Life, host)
	}
	method := workerapi.DoStopNested
	if errors.Is(cause, turn.ErrKilled) {
		method = workerapi.DoKillNested
	}
	out, err := askWorker(ctx, d.f, host, method, workerapi.EndIn{Name: string(a.Life.Spec.ID), Cause: cause.Error()})
	return out.Ended, err
}

// endingOf returns the shutdown that an agent is ended by, if one is.
func (f *Fleet) endingOf(id mailbox.AgentID) *protocol.Shutdown {
	t, ok := f.o.Store.Get(id)
	if !ok {
		return nil
	}
	if s := t.Life().Shutdown; s.Leaving() {
		return &s
	}
	return nil
}

// update takes over what a process has said of its agent in an answer.
func (f *Fleet) update(id mailbox.AgentID, r workerapi.RecordOut) error {
	t, ok := f.o.Store.Get(id)
	if !ok || r.Record == nil {
		return nil
	}
	return f.parts.Agents.Update(t.ID(), *r.Record)
}

// DecidePlan implements coordinator.RemoteAgents.
func (f *Fleet) DecidePlan(ctx context.Context, id, by mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	out, err := askWorker(ctx, f, id, workerapi.DoPlan, workerapi.PlanIn{By: by, Plan: &r, Key: key})
	if err != nil {
		return err
	}
	return f.update(id, out)
}

// Idle implements coordinator.RemoteAgents.
func (f *Fleet) Idle(ctx context.Context, id mailbox.AgentID) bool {
	if f.proc(id) == nil {
		return !executor.Held(f.o.lock(id))
	}
	ctx, cancel := context.WithTimeout(ctx, workerapi.RequestTimeout)
	defer cancel()
	r, err := askWorker(ctx, f, id, workerapi.DoQuiet, workerapi.LaunchIn{})
	return err == nil && r.Quiet
}

// Interrupt implements coordinator.RemoteAgents.
func (f *Fleet) Interrupt(id mailbox.AgentID) {
	f.run(func() {
		ctx, cancel := context.WithTimeout(f.scope, workerapi.RequestTimeout)
		defer cancel()
		if _, err := askWorker(ctx, f, id, workerapi.DoInterrupt, workerapi.LaunchIn{}); err != nil {
			f.o.Logger.Warn("an agent could not be interrupted", "agent", id, "error", err)
		}
	})
}

// Compact implements coordinator.RemoteAgents.
func (f *Fleet) Compact(ctx context.Context, id mailbox.AgentID) error {
	_, err := askWorker(ctx, f, id, workerapi.DoCompact, workerapi.LaunchIn{})
	return err
}

// Snapshot implements coordinator.RemoteAgents.
func (f *Fleet) Snapshot(id mailbox.AgentID) (coordinator.Snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.procs[id]
	if s == nil {
		return coordinator.Snapshot{}, false
	}
	state := s.report.State
	if s.silent.Name != "" {
		state = s.silent
	}
	return coordinator.Snapshot{State: state, Running: s.report.Running, Unread: s.report.Unread}, true
}

// Quiet implements coordinator.RemoteAgents. Mail between two processes could be behind the
// look at each; two looks that saw the same moves saw none under way.
func (f *Fleet) Quiet(ctx context.Context) bool {
	if f.Directory().isOwedMail() {
		return false
	}
	first, ok := f.still(ctx)
	if !ok {
		return false
	}
	again, ok := f.still(ctx)
	return ok && slices.Equal(first, again)
}

func (f *Fleet) still(ctx context.Context) (moves []uint64, quiet bool) {
	ctx, cancel := context.WithTimeout(ctx, workerapi.RequestTimeout)
	defer cancel()
	f.mu.Lock()
	ids := make([]mailbox.AgentID, 0, len(f.procs))
	for id := range f.procs {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	slices.Sort(ids)
	for _, id := range ids {
		r, err := askWorker(ctx, f, id, workerapi.DoQuiet, workerapi.LaunchIn{})
		if err != nil || !r.Quiet {
			return nil, false
		}
		moves = append(moves, r.Moves)
	}
	return moves, true
}

// Questions returns what the agents in other processes ask a person.
func (f *Fleet) Questions() []event.Question {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []event.Question
	for _, s := range f.procs {
		all = append(all, s.report.Questions...)
	}
	return all
}

// Asker returns the agent in another process that has asked a question.
func (f *Fleet) Asker(id string) (mailbox.AgentID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for agent, s := range f.procs {
		if slices.ContainsFunc(s.report.Questions, func(q event.Question) bool { return q.ID == id }) {
			return agent, true
		}
	}
	return "", false
}

// Answer passes on a person's answer. It returns when it is on disk there.
func (f *Fleet) Answer(id mailbox.AgentID, question string, a event.Answer) error {
	ctx, cancel := context.WithTimeout(f.scope, workerapi.RequestTimeout)
	defer cancel()
	_, err := askWorker(ctx, f, id, workerapi.DoAnswer, workerapi.AnswerIn{Name: question, Answer: &a})
	return err
}
