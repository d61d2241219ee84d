package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/ids"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// killWithin is how long the end of a member may take after its grace time.
const killWithin = 5 * time.Second

// protocols runs the requests between agents that take more than one message: shutdowns
// and the approval of plans.
type protocols struct {
	c *Coordinator

	mu     sync.Mutex
	driven map[mailbox.AgentID]struct{} // agents whose shutdown a goroutine runs; guarded by mu
}

func newProtocols(c *Coordinator) *protocols {
	return &protocols{c: c, driven: map[mailbox.AgentID]struct{}{}}
}

// MayEnd returns an error if an agent may not end another. An agent may end those that
// work for it and those in a team that it leads. The lead and the user may end every agent
// but the lead.
func (ps *protocols) MayEnd(by mailbox.AgentID, target agent.Spec) error {
	switch {
	case target.Role == agent.Lead, target.Role == agent.User, target.ID == by:
		return fmt.Errorf("%s cannot be ended this way", agent.DisplayName(target))
	case by == agent.LeadID, by == agent.UserID, ps.c.registry.IsBelow(target.ID, by), ps.c.registry.Leads(by, target):
		return nil
	}
	return fmt.Errorf("%s is not an agent of yours: %w", agent.DisplayName(target), protocol.ErrUnauthorized)
}

// RequestShutdown asks a member to end, or ends it if there is no grace time, and
// returns the request when it is on disk. If the member is ending already, or is asked
// twice, the first request counts. The runtime completes the shutdown, also after a
// restart.
func (ps *protocols) RequestShutdown(by, id mailbox.AgentID, d actors.ShutdownOptions) (protocol.Shutdown, error) {
	from, err := ps.c.transcript(by)
	if err != nil {
		return protocol.Shutdown{}, err
	}
	t, err := ps.c.transcript(id)
	if err != nil {
		return protocol.Shutdown{}, err
	}
	return ps.requestShutdown(from, t, d)
}

func (ps *protocols) requestShutdown(by, t *transcript.Transcript, d actors.ShutdownOptions) (protocol.Shutdown, error) {
	if ps.c.isAtOwner(t) && ps.c.isSelf(by) {
		return ps.c.opts.Owner.RequestShutdown(t.ID(), d)
	}
	if err := ps.MayEnd(by.ID(), t.Spec()); err != nil {
		ps.c.Refused(by.ID(), "shutdown_request to "+agent.DisplayName(t.Spec()), err)
		return protocol.Shutdown{}, err
	}
	if t.Record().Closed {
		d.Grace = 0 // it cannot answer
	}
	ask := protocol.Ask{ID: ids.Request(by.ID(), t.ID(), d.Key), By: by.ID(), Reason: d.Reason, Now: time.Now(), Grace: d.Grace}
	frame, remote := framer(by, t), t.IsReplica() || isProgram(t)
	s, effect, err := t.ShutdownNext(ask, func(s protocol.Shutdown) string {
		if remote {
			return "" // it goes by mail
		}
		return frame(message.ShutdownRequest{RequestID: s.ID, Reason: s.Reason, GraceMS: d.Grace.Milliseconds()}, s.ID)
	})
	if err != nil {
		return s, err
	}
	if effect != protocol.Nothing {
		ps.publishShutdown(t, s)
	}
	ps.runShutdown(t)
	ps.c.Wake(t.ID())
	return s, nil
}

// ShutDown is RequestShutdown that waits until the member has ended, or has objected,
// which it can do once.
func (ps *protocols) ShutDown(ctx context.Context, by, id mailbox.AgentID, d actors.ShutdownOptions) (actors.ShutdownResult, error) {
	t, err := ps.c.transcript(id)
	if err != nil {
		return actors.ShutdownResult{Name: string(id)}, err
	}
	if _, err := ps.RequestShutdown(by, id, d); err != nil {
		return actors.ShutdownResult{Name: agent.DisplayName(t.Spec())}, err
	}
	for {
		changed := ps.c.whenChanged()
		s := t.Record().Shutdown
		out := actors.ShutdownResult{Name: agent.DisplayName(t.Spec()), Gone: s.Phase == protocol.ShutdownGone, Why: s.Why, Objection: s.Objection}
		switch s.Phase {
		case protocol.ShutdownGone:
			var err error
			out.Ended, err = ps.receipt(ps.c.registry.Tree(t.ID()), nil)
			return out, err
		case protocol.ShutdownObjected:
			return out, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return out, fmt.Errorf("shut down %s: %w", out.Name, context.Cause(ctx))
		case <-ps.c.scope.Done():
			return out, fmt.Errorf("shut down %s: %w", out.Name, context.Cause(ps.c.scope))
		}
	}
}

// AnswerShutdown records a member's answer to the request to end. key is that of the
// call with the answer.
func (ps *protocols) AnswerShutdown(id mailbox.AgentID, r message.ShutdownResponse, key string) error {
	t, err := ps.c.transcript(id)
	if err != nil {
		return err
	}
	if ps.c.isSelf(t) {
		return ps.c.opts.Owner.AnswerShutdown(r, key)
	}
	s, effect, err := t.ShutdownNext(protocol.Respond{ID: r.RequestID, Approve: r.Approve, Reason: r.Reason, Key: key}, nil)
	if err != nil {
		ps.c.Refused(t.ID(), "shutdown_response", err)
		return err
	}
	if effect != protocol.Nothing {
		ps.publishShutdown(t, s)
	}
	if effect == protocol.Object {
		err = ps.replyShutdown(t, s, message.ShutdownResponse{RequestID: s.ID, Reason: s.Objection})
	}
	ps.c.Notify()
	return err
}

// runShutdown sees a shutdown that was asked for to its end, in one goroutine for each
// member.
func (ps *protocols) runShutdown(t *transcript.Transcript) {
	if !ps.c.live.Load() {
		return // Start does it
	}
	ps.mu.Lock()
	_, driven := ps.driven[t.ID()]
	if !driven {
		ps.driven[t.ID()] = struct{}{}
	}
	ps.mu.Unlock()
	if driven {
		ps.c.Notify() // the deadline may be another
		return
	}
	started := ps.c.work(func() {
		ps.awaitShutdown(t)
		ps.mu.Lock()
		delete(ps.driven, t.ID())
		ps.mu.Unlock()
		if p := t.Record().Shutdown.Phase; p == protocol.ShutdownAsked && ps.c.scope.Err() == nil {
			ps.runShutdown(t) // it was asked again meanwhile
		}
		ps.c.Notify()
	})
	if !started {
		ps.mu.Lock()
		delete(ps.driven, t.ID())
		ps.mu.Unlock()
	}
}

// expireShutdowns ends the grace times that ran out while no process ran the session,
// before an agent works.
func (ps *protocols) expireShutdowns() {
	for _, t := range ps.c.opts.Store.All() {
		ps.shutdownNext(t, protocol.Expire{Now: time.Now()})
	}
}

// resumeProtocols continues the requests that were not completed.
func (ps *protocols) resumeProtocols() {
	for _, t := range ps.c.opts.Store.All() {
		switch l := t.Record(); {
		case l.Shutdown.Phase == protocol.ShutdownAsked, l.Shutdown.Phase == protocol.ShutdownEnding:
			ps.runShutdown(t)
		case l.Plan.Phase == protocol.PlanPending && l.Plan.Lead != "" && !l.Closed && !t.IsReplica():
			ps.awaitPlan(t)
		}
	}
}

// awaitShutdown waits for the answer to a request to end, and completes the shutdown.
func (ps *protocols) awaitShutdown(t *transcript.Transcript) {
	shown := ""
	for ps.c.scope.Err() == nil {
		changed := ps.c.whenChanged()
		s := t.Record().Shutdown
		if s.Phase == protocol.ShutdownAsked && shown != s.ID {
			shown = s.ID
			ps.sendShutdownRequest(t, s)
		}
		switch {
		case s.Phase == protocol.ShutdownEnding:
			ps.completeShutdown(t)
			return
		case s.Phase != protocol.ShutdownAsked:
			return
		case !ps.isBusy(t):
			ps.shutdownNext(t, protocol.Finish{})
			continue
		}
		deadline := time.NewTimer(time.Until(s.Deadline))
		select {
		case <-changed:
		case <-ps.c.scope.Done():
		case now := <-deadline.C:
			ps.shutdownNext(t, protocol.Expire{Now: now})
		}
		deadline.Stop()
	}
}

// isBusy reports whether a member has something to do or to wait for.
func (ps *protocols) isBusy(t *transcript.Transcript) bool {
	if isProgram(t) {
		return true // its answer alone decides
	}
	if _, remote := ps.c.replica(t.ID()); remote {
		by, ok := ps.c.opts.Store.Get(t.Record().Shutdown.By)
		return ok && ps.c.outbox(by, t).OnItsWay(t) || !ps.c.opts.Remote.Idle(ps.c.scope, t.ID())
	}
	if t.HasWork() || ps.c.expects(t) {
		return true
	}
	h := ps.c.hosts.get(t.ID())
	return h != nil && h.busy()
}

// sendShutdownRequest sends the request to end to a member in another process or a program. A
// repeated call sends the same message.
func (ps *protocols) sendShutdownRequest(t *transcript.Transcript, s protocol.Shutdown) {
	by, known := ps.c.opts.Store.Get(s.By)
	if _, remote := ps.c.replica(t.ID()); !remote && !isProgram(t) || !known || t.Record().Closed {
		return
	}
	body, err := message.Encode(message.ShutdownRequest{RequestID: s.ID, Reason: s.Reason, GraceMS: max(0, time.Until(s.Deadline).Milliseconds())})
	if err == nil {
		var e mailbox.Envelope
		from := ps.c.outbox(by, t)
		e, _, err = from.Send(mailbox.Envelope{
			ID: mailbox.ID(s.ID), To: mailbox.Address{Agent: t.ID()}, Kind: mailbox.KindShutdownRequest,
			FromName: agent.DisplayName(by.Spec()), ToName: agent.DisplayName(t.Spec()), Summary: "asks you to end", Body: body,
		})
		if err == nil {
			ps.c.Sent(from.ID(), e)
		}
	}
	if err != nil {
		ps.c.publish(t, event.Warning{Text: fmt.Sprintf("%s could not be asked to end: %v", agent.DisplayName(t.Spec()), err)})
	}
}

func (ps *protocols) shutdownNext(t *transcript.Transcript, e protocol.ShutdownEvent) {
	s, effect, err := t.ShutdownNext(e, nil)
	if err != nil {
		ps.c.publish(t, event.Warning{Text: fmt.Sprintf("the shutdown of %s could not be recorded: %v", agent.DisplayName(t.Spec()), err)})
		return
	}
	if effect != protocol.Nothing || s.Phase == protocol.ShutdownGone {
		ps.publishShutdown(t, s)
	}
}

// completeShutdown ends a member and all that work for it, for good, and releases what
// they held. Each step may be repeated after a crash.
func (ps *protocols) completeShutdown(t *transcript.Transcript) {
	ctx, cancel := context.WithTimeout(ps.c.scope, killWithin)
	defer cancel()
	s := t.Record().Shutdown
	cause := turn.ShutDownBy(ps.c.nameOf(s.By))
	tree, err := ps.StopTree(ctx, t.ID(), cause)
	if ps.c.scope.Err() != nil {
		return // it continues after the restart
	}
	err = errors.Join(err, ps.c.recordEnd(t, func() error { return t.Seal(cause.Error()) }))
	ps.c.rejectUnreadIfFinal(t)
	ps.c.registry.Release(t.Spec())
	if ps.c.opts.Release != nil {
		for _, e := range tree {
			err = errors.Join(err, ps.c.opts.Release(ctx, e.ID))
		}
	}
	err = errors.Join(err, ps.replyShutdown(t, s, message.ShutdownResponse{RequestID: s.ID, Approve: true, Reason: "it has ended: " + s.Why}))
	if err != nil {
		ps.c.publish(t, event.Warning{Text: fmt.Sprintf("%s could not be ended completely: %v", agent.DisplayName(t.Spec()), err)})
	}
	ps.shutdownNext(t, protocol.Gone{})
}

// replyShutdown sends the result of a shutdown to the agent that asked for it. The user
// sees it where the user asked.
func (ps *protocols) replyShutdown(t *transcript.Transcript, s protocol.Shutdown, r message.ShutdownResponse) error {
	if s.By == agent.UserID || s.By == t.ID() {
		return nil
	}
	asker, ok := ps.c.opts.Store.Get(s.By)
	if !ok || asker.Record().Shutdown.Leaving() {
		return nil
	}
	body, err := message.Encode(r)
	if err != nil {
		return err
	}
	what := "objects to its shutdown"
	if r.Approve {
		what = "has ended"
	}
	name := agent.DisplayName(t.Spec())
	from := ps.c.outbox(t, asker)
	e, durable, err := from.Send(mailbox.Envelope{
		ID: mailbox.ID(fmt.Sprintf("%s-%t", s.ID, r.Approve)), To: mailbox.Address{Agent: s.By}, Kind: mailbox.KindShutdownResponse,
		FromName: name, ToName: agent.DisplayName(asker.Spec()), Summary: name + " " + what, Body: body,
	})
	if err != nil {
		return err
	}
	ps.c.Sent(from.ID(), e)
	return durable()
}

func (ps *protocols) publishShutdown(t *transcript.Transcript, s protocol.Shutdown) {
	f := event.ShutdownMoved{ID: s.ID, Phase: string(s.Phase), By: s.By, Reason: s.Reason}
	switch s.Phase {
	case protocol.ShutdownObjected:
		f.Reason = s.Objection
	case protocol.ShutdownEnding, protocol.ShutdownGone:
		f.Reason = s.Why
	}
	ps.c.publish(t, f)
}

// framer returns a function that frames a message of the runtime's protocols for its
// receiver. The function takes no lock, so it may be called under any.
func framer(from, to *transcript.Transcript) func(m message.Message, id string) string {
	e := mailbox.Envelope{From: from.Address(), To: to.Address(), FromName: agent.DisplayName(from.Spec())}
	return func(m message.Message, id string) string {
		var err error
		if e.Body, err = message.Encode(m); err != nil {
			return err.Error() // never: the messages framed here are valid
		}
		e.ID, e.Kind = mailbox.ID(id), m.Kind()
		return turn.Frame([]mailbox.Envelope{e})[0].Text
	}
}
