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

// callWorker makes a request to the process of an agent.
func callWorker[In, Out any](ctx context.Context, f *Fleet, id mailbox.AgentID, m rpc.Method[In, Out], in In) (out Out, err error) {
	conn, err := f.parts.Bus.LocalConn(ctx)
	if err != nil {
		return out, err
	}
	client := rpc.NewClient(conn, workerapi.WorkerSubject(f.options.Record.Get().ID).From(string(id)), rpc.ClientOptions{
		Errors: workerapi.WorkerErrors(),
		Failed: func(method string, err error) error {
			return fmt.Errorf("request %s of the process of %s: %w", method, id, err)
		},
	})
	return rpc.Call(ctx, client, m, in)
}

// Stop implements actors.RemoteAgents. If the process does not end its agents in time,
// Stop kills it and ends them on its record.
func (f *Fleet) Stop(ctx context.Context, id mailbox.AgentID, cause error) error {
	ending := f.shutdownOf(id)
	final := ending != nil || errors.Is(cause, turn.ErrKilled)
	p := f.proc(id)
	if p == nil {
		p = f.awaitBriefly(ctx, id)
	}
	if p == nil {
		if err := f.killHolder(ctx, f.options.lock(id)); err != nil {
			return err
		}
		return f.finalize(ctx, id, cause, final)
	}
	asked := f.requestEnd(ctx, p, cause, ending)
	if asked != nil {
		f.options.Logger.Warn("the process of an agent did not end it in time and is killed", "agent", id, "error", asked)
	}
	if err := f.release(ctx, p); err != nil {
		return err
	}
	if asked == nil && !final {
		f.forgetNested(id)
		return nil
	}
	return f.finalize(ctx, id, cause, final)
}

func (f *Fleet) requestEnd(ctx context.Context, p *proc, cause error, ending *protocol.Shutdown) error {
	f.mu.Lock()
	p.leaving = true
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	method := workerapi.DoStop
	if errors.Is(cause, turn.ErrKilled) {
		method = workerapi.DoKill
	}
	out, err := callWorker(ctx, f, p.spec.ID, method, workerapi.EndIn{Cause: cause.Error(), Ending: ending})
	if err != nil {
		return err
	}
	return f.update(p.spec.ID, out)
}

// awaitBriefly is await for a caller that can also kill the process.
func (f *Fleet) awaitBriefly(ctx context.Context, id mailbox.AgentID) *proc {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return f.await(ctx, id)
}

// End ends an agent that lives in the process of another, with all agents below it.
// unknown is the error if there is no such agent.
func (d Directory) End(ctx context.Context, name string, cause, unknown error) ([]actors.Ended, error) {
	a, host, err := d.f.Tree().Find(name, unknown)
	if err != nil {
		return nil, err
	}
	if d.f.proc(host) == nil {
		return nil, d.noProcess(a.Record, host)
	}
	method := workerapi.DoStopNested
	if errors.Is(cause, turn.ErrKilled) {
		method = workerapi.DoKillNested
	}
	out, err := callWorker(ctx, d.f, host, method, workerapi.EndIn{Name: string(a.Record.Spec.ID), Cause: cause.Error()})
	return out.Ended, err
}

// shutdownOf returns the shutdown by which an agent ends, or nil.
func (f *Fleet) shutdownOf(id mailbox.AgentID) *protocol.Shutdown {
	t, ok := f.options.Store.Get(id)
	if !ok {
		return nil
	}
	if s := t.Record().Shutdown; s.Leaving() {
		return &s
	}
	return nil
}

// update applies the record of an agent in a reply of its process.
func (f *Fleet) update(id mailbox.AgentID, r workerapi.RecordOut) error {
	t, ok := f.options.Store.Get(id)
	if !ok || r.Record == nil {
		return nil
	}
	return f.parts.Agents.Update(t.ID(), *r.Record)
}

// DecidePlan implements coordinator.RemoteAgents.
func (f *Fleet) DecidePlan(ctx context.Context, id, by mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	out, err := callWorker(ctx, f, id, workerapi.DoPlan, workerapi.PlanIn{By: by, Plan: &r, Key: key})
	if err != nil {
		return err
	}
	return f.update(id, out)
}

// Idle implements coordinator.RemoteAgents.
func (f *Fleet) Idle(ctx context.Context, id mailbox.AgentID) bool {
	if f.proc(id) == nil {
		return !executor.Held(f.options.lock(id))
	}
	ctx, cancel := context.WithTimeout(ctx, workerapi.RequestTimeout)
	defer cancel()
	r, err := callWorker(ctx, f, id, workerapi.DoQuiet, workerapi.LaunchIn{})
	return err == nil && r.Quiet
}

// Interrupt implements coordinator.RemoteAgents.
func (f *Fleet) Interrupt(id mailbox.AgentID) {
	f.run(func() {
		ctx, cancel := context.WithTimeout(f.scope, workerapi.RequestTimeout)
		defer cancel()
		if _, err := callWorker(ctx, f, id, workerapi.DoInterrupt, workerapi.LaunchIn{}); err != nil {
			f.options.Logger.Warn("an agent could not be interrupted", "agent", id, "error", err)
		}
	})
}

// Compact implements coordinator.RemoteAgents.
func (f *Fleet) Compact(ctx context.Context, id mailbox.AgentID) error {
	_, err := callWorker(ctx, f, id, workerapi.DoCompact, workerapi.LaunchIn{})
	return err
}

// Snapshot implements coordinator.RemoteAgents.
func (f *Fleet) Snapshot(id mailbox.AgentID) (coordinator.Snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.procs[id]
	if p == nil {
		return coordinator.Snapshot{}, false
	}
	state := p.report.State
	if p.stuck.Name != "" {
		state = p.stuck
	}
	return coordinator.Snapshot{State: state, Running: p.report.Running, Unread: p.report.Unread}, true
}

// Quiet implements actors.RemoteAgents. Mail can be in transit between two processes
// that are queried one after the other. Two rounds with the same counts of moves show
// that there was none.
func (f *Fleet) Quiet(ctx context.Context) bool {
	if f.Directory().isOwedMail() {
		return false
	}
	first, ok := f.queryQuiet(ctx)
	if !ok {
		return false
	}
	again, ok := f.queryQuiet(ctx)
	return ok && slices.Equal(first, again)
}

func (f *Fleet) queryQuiet(ctx context.Context) (moves []uint64, quiet bool) {
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
		r, err := callWorker(ctx, f, id, workerapi.DoQuiet, workerapi.LaunchIn{})
		if err != nil || !r.Quiet {
			return nil, false
		}
		moves = append(moves, r.Moves)
	}
	return moves, true
}

// Questions returns the open questions of agents in other processes.
func (f *Fleet) Questions() []event.Question {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []event.Question
	for _, p := range f.procs {
		all = append(all, p.report.Questions...)
	}
	return all
}

// Asker returns the agent in another process that asked a question.
func (f *Fleet) Asker(id string) (mailbox.AgentID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for agent, p := range f.procs {
		if slices.ContainsFunc(p.report.Questions, func(q event.Question) bool { return q.ID == id }) {
			return agent, true
		}
	}
	return "", false
}

// Answer sends a person's answer to the process of the agent that asked. It returns
// when the answer is on disk there.
func (f *Fleet) Answer(id mailbox.AgentID, question string, a event.Answer) error {
	ctx, cancel := context.WithTimeout(f.scope, workerapi.RequestTimeout)
	defer cancel()
	_, err := callWorker(ctx, f, id, workerapi.DoAnswer, workerapi.AnswerIn{Name: question, Answer: &a})
	return err
}
