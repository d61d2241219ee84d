package swarm

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

// serve answers the owner.
func (n *Node) serve() error {
	s := rpc.NewServer(n.session.scope, rpc.ServerOptions{
		Log: n.session.opts.Logger, Errors: workerapi.WorkerErrors(), Accept: func(rpc.Caller) bool { return !n.isClosed() },
	})
	n.handleOwn(s)
	n.handleBelow(s)
	n.server = s
	if err := s.Open(n.conn, workerapi.WorkerSubject(n.info.ID).From(n.o.Agent)); err != nil {
		return fmt.Errorf("listen to the session's owner: %w", err)
	}
	return nil
}

// handleOwn answers what the owner asks about the agent of the process.
func (n *Node) handleOwn(s *rpc.Server) {
	agents := n.session.agents
	rpc.Handle(s, workerapi.DoStop, n.stop)
	rpc.Handle(s, workerapi.DoKill, n.stop)
	rpc.Handle(s, workerapi.DoQuit, func(_ context.Context, c rpc.Caller, _ workerapi.LaunchIn) (rpc.None, error) {
		c.After(func() { n.end(c.Method) })
		return rpc.None{}, nil
	})
	rpc.Handle(s, workerapi.DoPlan, n.decidePlan)
	rpc.Handle(s, workerapi.DoInterrupt, func(context.Context, rpc.Caller, workerapi.LaunchIn) (rpc.None, error) {
		n.Interrupt()
		return rpc.None{}, nil
	})
	rpc.Handle(s, workerapi.DoCompact, func(ctx context.Context, _ rpc.Caller, _ workerapi.LaunchIn) (rpc.None, error) {
		return rpc.None{}, agents.Compact(ctx, n.id)
	})
	rpc.Handle(s, workerapi.DoAnswer, func(_ context.Context, _ rpc.Caller, in workerapi.AnswerIn) (rpc.None, error) {
		if in.Answer == nil {
			return rpc.None{}, errNoAnswer
		}
		return rpc.None{}, agents.Answer(in.Name, *in.Answer)
	})
	rpc.Handle(s, workerapi.DoQuiet, func(context.Context, rpc.Caller, workerapi.LaunchIn) (out workerapi.QuietOut, _ error) {
		out.Quiet, out.Moves = agents.IsQuiet()
		return out, nil
	})
	for _, what := range []string{archive.QueryNested, archive.QueryInbox, archive.QueryMail} {
		rpc.Handle(s, workerapi.DoQuery(what), func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (workerapi.RecordOut, error) {
			sight, err := n.session.onRecord().Query(n.id, what, in.Name)
			return workerapi.RecordOut{Sight: &sight}, err
		})
	}
}

// handleBelow answers what the owner asks about the other agents in the process.
func (n *Node) handleBelow(s *rpc.Server) {
	agents := n.session.agents
	end := func(ctx context.Context, c rpc.Caller, in workerapi.EndIn) (workerapi.EndedOut, error) {
		ended, err := agents.StopTree(ctx, mailbox.AgentID(in.Name), causeOf(c.Method, in.Cause))
		return workerapi.EndedOut{Ended: ended}, err
	}
	rpc.Handle(s, workerapi.DoStopBelow, end)
	rpc.Handle(s, workerapi.DoKillBelow, end)
	rpc.Handle(s, workerapi.DoWakeBelow, func(_ context.Context, _ rpc.Caller, in workerapi.WakeIn) (rpc.None, error) {
		return rpc.None{}, n.wakeBelow(in)
	})
	rpc.Handle(s, workerapi.DoInterruptBelow, func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (rpc.None, error) {
		if id := mailbox.AgentID(in.Name); n.session.runs(id) {
			agents.Interrupt(id)
		}
		return rpc.None{}, nil
	})
	rpc.Handle(s, workerapi.DoBgBelow, func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (rpc.None, error) {
		return rpc.None{}, agents.Background(mailbox.AgentID(in.Name))
	})
	rpc.Handle(s, workerapi.DoCompactBelow, func(ctx context.Context, _ rpc.Caller, in workerapi.NameIn) (rpc.None, error) {
		return rpc.None{}, agents.Compact(ctx, mailbox.AgentID(in.Name))
	})
}

func (n *Node) end(why string) {
	select {
	case n.leave <- why:
	default:
	}
}

func (n *Node) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// wakeBelow wakes an agent below the node's. Who does it is made known here, so that
// it can be told of the end.
func (n *Node) wakeBelow(c workerapi.WakeIn) error {
	t, ok := n.session.store.Get(mailbox.AgentID(c.Name))
	if !ok {
		return &agent.UnknownError{Name: c.Name}
	}
	if c.Spec != nil {
		if err := n.session.agents.Register(*c.Spec); err != nil {
			return err
		}
	}
	return n.session.agents.Reopen(t.ID(), c.By)
}

// stop ends the agent of the node, and all others that live in this process, which
// ends with it.
func (n *Node) stop(ctx context.Context, c rpc.Caller, in workerapi.EndIn) (workerapi.LifeOut, error) {
	c.After(func() { n.end(c.Method) })
	if err := n.leaveBy(in.Ending); err != nil {
		return workerapi.LifeOut{}, err
	}
	if err := n.session.onRecord().End(ctx, n.id, causeOf(c.Method, in.Cause)); err != nil {
		return workerapi.LifeOut{}, err
	}
	return workerapi.LifeOut{Life: n.sight().Life}, nil
}

// causeOf is why an agent is ended: the owner's words, as if they had been given here.
func causeOf(method, said string) error {
	if strings.HasPrefix(method, "kill") {
		return turn.ErrKilled
	}
	return &rpc.RemoteError{Text: said, Is: turn.ErrStopped}
}

// decidePlan takes a decision about the agent's plan that somebody has made with
// the session's owner, which answers for who it was.
func (n *Node) decidePlan(_ context.Context, _ rpc.Caller, in workerapi.PlanIn) (workerapi.LifeOut, error) {
	if in.Plan == nil {
		return workerapi.LifeOut{}, errNoAnswer
	}
	me, ok := n.session.store.Get(n.id)
	if !ok {
		return workerapi.LifeOut{}, &agent.UnknownError{Name: n.o.Agent}
	}
	by, ok := n.session.agents.Find(string(in.By))
	if !ok {
		return workerapi.LifeOut{}, &agent.UnknownError{Name: string(in.By)}
	}
	err := n.session.agents.DecidePlan(by.ID(), me.ID(), *in.Plan, in.Key)
	return workerapi.LifeOut{Life: n.sight().Life}, err
}

// leaveBy records that the agent ends by a shutdown, if it does: who asked for
// it is told by the session's owner.
func (n *Node) leaveBy(s *protocol.Shutdown) error {
	me, ok := n.session.store.Get(n.id)
	if s == nil || !ok {
		return nil
	}
	_, _, err := me.ShutdownNext(protocol.Ask{ID: s.ID, By: s.By, Reason: s.Reason, Now: time.Now()}, nil)
	return err
}
