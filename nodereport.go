package swarm

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/workerapi"
)

// reportKnown reports and makes known here who is new in the session.
func (n *Node) reportKnown(ctx context.Context) (workerapi.Welcome, error) {
	w, err := n.report(ctx)
	if err != nil {
		return w, err
	}
	return w, errors.Join(n.meet(w), n.learn(w.Granted))
}

// learn takes over rules that answers for always have added.
func (n *Node) learn(granted []string) error {
	fresh := granted[min(len(n.session.Info().Granted), len(granted)):]
	if err := n.session.record.Update(func(i *Info) error { i.Granted = granted; return nil }); err != nil {
		return err
	}
	return n.session.rules.Learn(fresh)
}

func (n *Node) meet(w workerapi.Welcome) error {
	var errs []error
	for _, spec := range w.Members {
		err := n.session.agents.Register(spec)
		errs = append(errs, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = w.Count
	return errors.Join(errs...)
}

// report says that the node lives and how its agent is.
func (n *Node) report(ctx context.Context) (workerapi.Welcome, error) {
	sight := n.sight()
	w, err := askOwner(ctx, n, workerapi.UpReport, sight)
	if err == nil && w.Leave != "" {
		err = &LeaveError{Why: w.Leave}
	}
	if err == nil {
		n.told(sight.Landed)
		n.bounded.Store(w.Bounded)
	}
	return w, err
}

func (n *Node) sight() workerapi.Report {
	n.mu.Lock()
	r := workerapi.Report{Launch: n.o.Launch, PID: os.Getpid(), Known: n.known, Landed: slices.Clone(n.landed)}
	n.mu.Unlock()
	if n.session == nil {
		return r
	}
	for _, s := range n.session.agents.Status() {
		if s.Life.Spec.ID == n.id {
			life := s.Life
			life.Below = n.session.agents.Below(life)
			r.Life, r.State, r.Running, r.Unread = &life, s.State, s.Running, s.Unread
		}
	}
	r.Questions = n.session.agents.Questions()
	return r
}

// tell passes on what happens here, until the session is closed.
func (n *Node) tell() {
	sub := n.session.bus.Subscribe()
	defer sub.Close()
	for {
		e, err := sub.Next(context.WithoutCancel(n.session.scope))
		if err != nil {
			return
		}
		if err := rpc.Send(n.owner(), workerapi.UpEvent, workerapi.Event{Launch: n.o.Launch, Event: e}); err != nil {
			n.session.opts.Logger.Warn("an event could not be told", "type", event.Type(e.Fact), "error", err)
		}
		if _, small := e.Fact.(event.Delta); !small {
			n.stir()
		}
	}
}
