package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// finishTurn reports the end of the last turn. It ends an agent that has one turn only
// or is to stop. Each step may be repeated after a crash and then changes nothing.
func (h *host) finishTurn(ctx context.Context) ending {
	record := h.t.Record()
	if h.rests(record) {
		h.moveTo(state.Waiting, state.WaitsForChild)
		return proceed
	}
	switch again, err := h.restarts(record); {
	case err != nil:
		return h.runtimeFailed(err)
	case again:
		return proceed
	}
	return h.finish(ctx, record, h.endsWith(record), "")
}

// retire ends an agent that is to stop and runs no turn.
func (h *host) retire(ctx context.Context, cause error) ending {
	record := h.t.Record()
	if state.IsResting(record) { // its last text was not yet its result
		record.Outcome, record.Reason = agent.Stopped, cause.Error()
	}
	return h.finish(ctx, record, true, cause.Error())
}

func (h *host) finish(ctx context.Context, record agent.Record, ends bool, why string) ending {
	if ends {
		h.closeTools()
		record.Spec.Role = h.t.Ending().Spec.Role
		record.KeptDir = h.release()
	}
	switch err := h.reportInTime(ctx, record); {
	case errors.Is(err, turn.ErrShutdown):
		return suspended // reported after the restart
	case errors.As(err, new(*mailbox.FullError)):
		h.emit(event.Warning{Text: fmt.Sprintf("the end of %s was not reported: %v", agent.DisplayName(record.Spec), err)})
	case err != nil:
		return h.runtimeFailed(fmt.Errorf("the end of %s could not be reported: %w", agent.DisplayName(record.Spec), err))
	}
	h.asked.Store(false)
	if !ends {
		return proceed
	}
	if err := h.t.Close(why, record.KeptDir); err != nil {
		return h.runtimeFailed(err)
	}
	is := state.Resting(h.t.Record())
	h.moveTo(is.Name, is.Detail)
	return finished
}

// endsWith reports whether the agent ends with the turn that has ended.
func (h *host) endsWith(l agent.Record) bool {
	if endsByItself(l.Spec.Role) {
		return !h.t.HasWork() || l.Outcome != agent.Completed
	}
	return l.Outcome == agent.Stopped
}

// owesReport reports whether a turn has ended whose end was neither reported nor closed,
// as after a crash.
func (h *host) owesReport() bool {
	l := h.t.Record()
	return l.Turns > l.Reported && !l.TurnOpen && !l.Closed && endsByItself(l.Spec.Role) && !h.rests(l)
}

// reportInTime is report that waits while the receiver's mailbox is full, until ctx
// ends. Then the error is the shutdown, or a *mailbox.FullError.
func (h *host) reportInTime(ctx context.Context, l agent.Record) error {
	for {
		changed := h.c.whenChanged()
		err := h.report(l)
		if !errors.As(err, new(*mailbox.FullError)) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), turn.ErrShutdown) {
				return context.Cause(ctx)
			}
			return err
		}
	}
}

// report sends the end of a turn as a message. The id of the message follows from agent
// and turn, so that a repeated report is the same message.
func (h *host) report(l agent.Record) error {
	e := mailbox.Envelope{
		ID:       mailbox.ID("r-" + string(l.Spec.ID) + "-" + strconv.Itoa(l.Turns)),
		FromName: agent.DisplayName(l.Spec),
		Body:     report.Body(l),
		Summary:  report.Summary(l),
	}
	switch {
	case l.Turns == 0:
		return nil // it was stopped before it had anything to do
	case l.Spec.Role == agent.Background:
		e.Kind, e.To = mailbox.KindAgentReport, mailbox.Address{Agent: h.c.registry.ReportsTo(l)}
	case l.Spec.Role == agent.Teammate && h.isNews(l):
		e.Kind, e.To = mailbox.KindIdle, mailbox.Address{Agent: h.c.registry.LeadOf(l.Spec)}
		e.Key, e.Class = report.Key(l), report.Class(l)
	default:
		return nil
	}
	if err := h.c.reopenFor(e.To.Agent, l.Spec.ID); err != nil {
		return err
	}
	_, durable, err := h.t.Send(e)
	if err != nil {
		return err
	}
	return durable()
}

// isNews reports whether the lead of a teammate's team gets a report of its turn: the
// turn worked for a lead or the user, or failed.
func (h *host) isNews(l agent.Record) bool {
	if l.Shutdown.Phase == protocol.ShutdownEnding || l.Plan.Phase == protocol.PlanPending && l.Outcome == agent.Completed {
		return false // the asker gets an answer, and the lead has the plan
	}
	return h.asked.Load() || l.Turns == 1 || l.Outcome != agent.Completed
}

// fail records that the agent's host is parked, and reports it.
func (h *host) fail(reason error) {
	reason = fmt.Errorf("%w: %w", turn.ErrRuntime, reason)
	note := "not run: the agent's host failed"
	err := h.t.End(agent.Failed, reason.Error(), h.t.Record().Result, note)
	if err != nil {
		// Its conversation cannot be read: it ends without it.
		h.emit(event.Warning{Text: err.Error()})
		err = h.t.Close(reason.Error(), h.t.Record().KeptDir)
	}
	if err != nil {
		h.emit(event.Warning{Text: err.Error()})
		return
	}
	h.moveTo(state.Parked, reason.Error())
	h.asked.Store(true)
	if err := h.report(h.t.Record()); err != nil {
		h.emit(event.Warning{Text: err.Error()})
	}
}
