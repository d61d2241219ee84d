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

// reportAndRegister reports, and registers the agents and rules in the reply.
func (w *Worker) reportAndRegister(ctx context.Context) (workerapi.ReportOut, error) {
	got, err := w.report(ctx)
	if err != nil {
		return got, err
	}
	w.rules.Hold(got.Held)
	return got, errors.Join(w.registerMembers(got), w.addRules(got.Granted))
}

// addRules adds the rules that the user's answers have added elsewhere.
func (w *Worker) addRules(granted []string) error {
	fresh := granted[min(len(w.record.Get().Granted), len(granted)):]
	if err := w.record.Update(func(i *session.Info) error { i.Granted = granted; return nil }); err != nil {
		return err
	}
	return w.rules.Add(fresh)
}

func (w *Worker) registerMembers(welcome workerapi.ReportOut) error {
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

// report sends the state of the worker and its agent to the owner.
func (w *Worker) report(ctx context.Context) (workerapi.ReportOut, error) {
	sight := w.currentReport()
	welcome, err := callOwner(ctx, w, workerapi.UpReport, sight)
	if err == nil && welcome.Refusal != "" {
		err = &RefusedError{Reason: welcome.Refusal}
	}
	if err == nil {
		w.clearCharged(sight.Charged)
		w.bounded.Store(welcome.Bounded)
	}
	return welcome, err
}

func (w *Worker) currentReport() workerapi.Report {
	w.mu.Lock()
	r := workerapi.Report{Launch: w.options.Launch, PID: os.Getpid(), Known: w.known, Charged: slices.Clone(w.charged)}
	w.mu.Unlock()
	if w.node == nil {
		return r
	}
	for _, s := range w.node.Agents.Status() {
		if s.Record.Spec.ID == w.id {
			life := s.Record
			life.Nested = w.node.Agents.Nested(life)
			r.Record, r.State, r.Running, r.Unread = &life, s.State, s.Running, s.Unread
		}
	}
	r.Questions = w.node.Agents.Questions()
	return r
}

// publish sends the events of this process to the owner until the node is closed.
func (w *Worker) publish() {
	sub := w.node.Events.Subscribe()
	defer sub.Close()
	for {
		e, err := sub.Next(context.WithoutCancel(w.scope))
		if err != nil {
			return
		}
		if err := rpc.Send(w.owner(), workerapi.UpEvent, workerapi.Event{Launch: w.options.Launch, Event: e}); err != nil {
			w.options.Logger.Warn("an event could not be sent to the owner", "type", event.Type(e.Fact), "error", err)
		}
		if _, small := e.Fact.(event.Delta); !small {
			w.reportSoon()
		}
	}
}
