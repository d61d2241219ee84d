package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// serve answers requests of the owner.
func (w *Worker) serve() error {
	s := rpc.NewServer(w.scope, rpc.ServerOptions{
		Log: w.options.Logger, Errors: workerapi.WorkerErrors(), Accept: func(rpc.Caller) bool { return !w.isClosed() },
	})
	w.handleAgent(s)
	w.handleNested(s)
	w.server = s
	if err := s.Open(w.conn, workerapi.WorkerSubject(w.info.ID).From(w.options.Agent)); err != nil {
		return fmt.Errorf("listen to requests of the session's owner: %w", err)
	}
	return nil
}

// handleAgent registers the requests about the worker's agent.
func (w *Worker) handleAgent(s *rpc.Server) {
	agents := w.node.Agents
	rpc.Handle(s, workerapi.DoStop, w.stop)
	rpc.Handle(s, workerapi.DoKill, w.stop)
	rpc.Handle(s, workerapi.DoQuit, func(_ context.Context, c rpc.Caller, _ workerapi.LaunchIn) (rpc.None, error) {
		c.After(func() { w.stopRun(c.Method) })
		return rpc.None{}, nil
	})
	rpc.Handle(s, workerapi.DoPlan, w.decidePlan)
	rpc.Handle(s, workerapi.DoInterrupt, func(context.Context, rpc.Caller, workerapi.LaunchIn) (rpc.None, error) {
		w.Interrupt()
		return rpc.None{}, nil
	})
	rpc.Handle(s, workerapi.DoCompact, func(ctx context.Context, _ rpc.Caller, _ workerapi.LaunchIn) (rpc.None, error) {
		return rpc.None{}, agents.Compact(ctx, w.id)
	})
	rpc.Handle(s, workerapi.DoAnswer, func(_ context.Context, _ rpc.Caller, in workerapi.AnswerIn) (rpc.None, error) {
		if in.Answer == nil {
			return rpc.None{}, workerapi.ErrNoAnswer
		}
		return rpc.None{}, agents.Answer(in.Name, *in.Answer)
	})
	rpc.Handle(s, workerapi.DoQuiet, func(context.Context, rpc.Caller, workerapi.LaunchIn) (out workerapi.QuietOut, _ error) {
		out.Quiet, out.Moves = agents.IsQuiet()
		return out, nil
	})
	for _, what := range []string{archive.QueryNested, archive.QueryInbox, archive.QueryMail} {
		rpc.Handle(s, workerapi.DoQuery(what), func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (workerapi.SnapshotOut, error) {
			sight, err := w.node.Record().Query(w.id, what, in.Name)
			return workerapi.SnapshotOut{Snapshot: &sight}, err
		})
	}
}

// handleNested registers the requests about the other agents in the process.
func (w *Worker) handleNested(s *rpc.Server) {
	agents := w.node.Agents
	end := func(ctx context.Context, c rpc.Caller, in workerapi.EndIn) (workerapi.EndedOut, error) {
		ended, err := agents.StopTree(ctx, mailbox.AgentID(in.Name), causeOf(c.Method, in.Cause))
		return workerapi.EndedOut{Ended: ended}, err
	}
	rpc.Handle(s, workerapi.DoStopNested, end)
	rpc.Handle(s, workerapi.DoKillNested, end)
	rpc.Handle(s, workerapi.DoWakeNested, func(_ context.Context, _ rpc.Caller, in workerapi.WakeIn) (rpc.None, error) {
		return rpc.None{}, w.wakeNested(in)
	})
	rpc.Handle(s, workerapi.DoInterruptNested, func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (rpc.None, error) {
		if id := mailbox.AgentID(in.Name); w.node.IsRunning(id) {
			agents.Interrupt(id)
		}
		return rpc.None{}, nil
	})
	rpc.Handle(s, workerapi.DoBackgroundNested, func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (rpc.None, error) {
		return rpc.None{}, agents.Background(mailbox.AgentID(in.Name))
	})
	rpc.Handle(s, workerapi.DoCompactNested, func(ctx context.Context, _ rpc.Caller, in workerapi.NameIn) (rpc.None, error) {
		return rpc.None{}, agents.Compact(ctx, mailbox.AgentID(in.Name))
	})
}

func (w *Worker) stopRun(why string) {
	select {
	case w.stopReason <- why:
	default:
	}
}

func (w *Worker) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// wakeNested wakes another agent in the process. It registers the agent that wakes it,
// which is notified of its end.
func (w *Worker) wakeNested(c workerapi.WakeIn) error {
	t, ok := w.node.Store.Get(mailbox.AgentID(c.Name))
	if !ok {
		return &agent.UnknownError{Name: c.Name}
	}
	if c.Spec != nil {
		if err := w.node.Agents.Register(*c.Spec); err != nil {
			return err
		}
	}
	return w.node.Agents.Reopen(t.ID(), c.By)
}

// stop ends the worker's agent and all others in the process, which then ends.
func (w *Worker) stop(ctx context.Context, c rpc.Caller, in workerapi.EndIn) (workerapi.RecordOut, error) {
	c.After(func() { w.stopRun(c.Method) })
	if err := w.recordShutdown(in.Ending); err != nil {
		return workerapi.RecordOut{}, err
	}
	if err := w.node.Record().End(ctx, w.id, causeOf(c.Method, in.Cause)); err != nil {
		return workerapi.RecordOut{}, err
	}
	return workerapi.RecordOut{Record: w.currentReport().Record}, nil
}

// causeOf returns the cause with which an agent is ended at the owner's request.
func causeOf(method, said string) error {
	if strings.HasPrefix(method, "kill") {
		return turn.ErrKilled
	}
	return &rpc.RemoteError{Text: said, Known: turn.ErrStopped}
}

// decidePlan applies a decision about the agent's plan that the owner has accepted. The
// owner has checked who made it.
func (w *Worker) decidePlan(_ context.Context, _ rpc.Caller, in workerapi.PlanIn) (workerapi.RecordOut, error) {
	if in.Plan == nil {
		return workerapi.RecordOut{}, workerapi.ErrNoAnswer
	}
	me, ok := w.node.Store.Get(w.id)
	if !ok {
		return workerapi.RecordOut{}, &agent.UnknownError{Name: w.options.Agent}
	}
	by, ok := w.node.Agents.Find(string(in.By))
	if !ok {
		return workerapi.RecordOut{}, &agent.UnknownError{Name: string(in.By)}
	}
	err := w.node.Agents.DecidePlan(by.ID(), me.ID(), *in.Plan, in.Key)
	return workerapi.RecordOut{Record: w.currentReport().Record}, err
}

// recordShutdown records the shutdown with which the agent ends, if there is one. The owner
// notifies the agent that requested it.
func (w *Worker) recordShutdown(state *protocol.Shutdown) error {
	me, ok := w.node.Store.Get(w.id)
	if state == nil || !ok {
		return nil
	}
	_, _, err := me.ShutdownNext(protocol.Ask{ID: state.ID, By: state.By, Reason: state.Reason, Now: time.Now()}, nil)
	return err
}
