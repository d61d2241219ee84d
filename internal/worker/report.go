package worker

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/session"
)

// reportKnown reports and makes known here who is new in the session.
func (w *Worker) reportKnown(ctx context.Context) (workerapi.Welcome, error) {
	got, err := w.report(ctx)
	if err != nil {
		return got, err
	}
	return got, errors.Join(w.meet(got), w.learn(got.Granted))
}

// learn takes over rules that answers for always have added.
func (w *Worker) learn(granted []string) error {
	fresh := granted[min(len(w.record.Get().Granted), len(granted)):]
	if err := w.record.Update(func(i *session.Info) error { i.Granted = granted; return nil }); err != nil {
		return err
	}
	return w.rules.Learn(fresh)
}

func (w *Worker) meet(welcome workerapi.Welcome) error {
	var errs []error
	for _, spec := range welcome.Members {
		err := w.node.Agents.Register(spec)
		errs = append(errs, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = welcome.Count
	return errors.Join(errs...)
}

// report says that the worker lives and how its agent is.
func (w *Worker) report(ctx context.Context) (workerapi.Welcome, error) {
	sight := w.sight()
	welcome, err := askOwner(ctx, w, workerapi.UpReport, sight)
	if err == nil && welcome.Leave != "" {
		err = &LeaveError{Why: welcome.Leave}
	}
	if err == nil {
		w.reported(sight.Landed)
		w.bounded.Store(welcome.Bounded)
	}
	return welcome, err
}

func (w *Worker) sight() workerapi.Report {
	w.mu.Lock()
	r := workerapi.Report{Launch: w.o.Launch, PID: os.Getpid(), Known: w.known, Landed: slices.Clone(w.landed)}
	w.mu.Unlock()
	if w.node == nil {
		return r
	}
	for _, s := range w.node.Agents.Status() {
		if s.Life.Spec.ID == w.id {
			life := s.Life
			life.Below = w.node.Agents.Below(life)
			r.Life, r.State, r.Running, r.Unread = &life, s.State, s.Running, s.Unread
		}
	}
	r.Questions = w.node.Agents.Questions()
	return r
}

// publish passes on what happens here, until the session is closed.
func (w *Worker) publish() {
	sub := w.node.Events.Subscribe()
	defer sub.Close()
	for {
		e, err := sub.Next(context.WithoutCancel(w.scope))
		if err != nil {
			return
		}
		if err := rpc.Send(w.owner(), workerapi.UpEvent, workerapi.Event{Launch: w.o.Launch, Event: e}); err != nil {
			w.o.Logger.Warn("an event could not be told", "type", event.Type(e.Fact), "error", err)
		}
		if _, small := e.Fact.(event.Delta); !small {
			w.reportSoon()
		}
	}
}
