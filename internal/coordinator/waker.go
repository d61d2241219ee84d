package coordinator

import (
	"errors"
	"fmt"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// waker starts hosts for agents that have none.
type waker struct {
	c *Coordinator

	// waking guards kernel, scope and end of the coordinator until Start has set
	// them, and makes sure that an agent gets one host, whoever wakes it.
	waking sync.Mutex
}

// ensureHost starts the host of an agent that has none and has not ended, or has mail to
// read. waking is held.
func (wk *waker) ensureHost(t *transcript.Transcript) error {
	record := t.Record()
	wk.c.registry.Add(record)
	switch {
	case !record.Spec.Role.IsAgent(), wk.c.hosts.get(t.ID()) != nil:
		return nil
	case record.Spec.Where != "":
		wk.c.relaunch(t)
		return nil
	case record.Closed && !wk.hasMissedMail(t):
		return nil
	}
	if err := wk.recordReopening(t, reopenRole(record), agent.Waking{By: wk.c.registry.Employer(record, firstSender(t.Unread()))}); err != nil {
		return err
	}
	_, err := wk.c.host(wk.c.scope, t, record.Incarnation+1)
	return err
}

// willRead reports whether mail to an agent leads to a turn. An agent that was done when
// it ended reads the mail that was on its way then; one that was stopped stays so until
// a new message for it is sent.
func willRead(l agent.Record) bool {
	if !l.Spec.Role.IsAgent() || l.Shutdown.Leaving() {
		return false
	}
	return !l.Closed || l.Outcome == agent.Completed && !l.Spec.OneShot
}

// hasMissedMail reports whether an agent has ended with unread mail that is to wake it.
func (wk *waker) hasMissedMail(t *transcript.Transcript) bool {
	l := t.Record()
	return l.Closed && willRead(l) && len(t.Unread()) > 0
}

// wakeIfWork starts a host for an agent without one if there is work for it: mail came
// after its end, or its host was parked.
func (wk *waker) wakeIfWork(t *transcript.Transcript) {
	if !wk.c.live.Load() || !t.Spec().Role.IsAgent() || t.IsReplica() || !t.HasWork() && !wk.hasMissedMail(t) {
		return
	}
	wk.c.change(func() {
		wk.waking.Lock()
		defer wk.waking.Unlock()
		if err := wk.ensureHost(t); err != nil {
			wk.c.publish(t, event.Warning{Text: fmt.Sprintf("%s has mail and could not be woken: %v", agent.DisplayName(t.Spec()), err)})
		}
		if h := wk.c.hosts.get(t.ID()); h != nil {
			h.ref.Tell(wakeUp{}) // it may have checked before the work was there
		}
	})
}

// Reopen lets an agent that has ended work again, with the same id, conversation,
// tools, model and mode, in the background. The caller has a message of by for it; by
// gets the report of its end if it is an agent. Reopen does nothing for an agent that has
// not ended.
func (wk *waker) Reopen(id, by mailbox.AgentID) error {
	t, err := wk.c.transcript(id)
	if err != nil {
		return err
	}
	if wk.c.isAtOwner(t) {
		return wk.c.opts.Owner.Reopen(t.ID(), by)
	}
	if l := t.Record(); !l.Closed && !l.Shutdown.Leaving() {
		return nil // without the lock: a message to a running agent does not wait for others that wake
	}
	wk.waking.Lock()
	defer wk.waking.Unlock()
	record := t.Record()
	return wk.reopenAs(t, reopenRole(record), agent.Waking{By: wk.c.registry.Employer(record, by)})
}

// reopenAs is Reopen in a role and for a tool call, if there is one. waking is held.
func (wk *waker) reopenAs(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	record := t.Record()
	name := agent.DisplayName(record.Spec)
	switch {
	case record.Shutdown.Leaving():
		return &actors.FinalError{Name: name, Reason: turn.ShutDownBy(wk.c.nameOf(record.Shutdown.By)).Error()}
	case !record.Closed:
		return nil
	case !record.Spec.Role.IsAgent():
		return &actors.FinalError{Name: name, Reason: record.Reason}
	case record.Reason == turn.ErrKilled.Error():
		return &actors.FinalError{Name: name, Reason: record.Reason}
	case record.Spec.OneShot:
		return &actors.FinalError{Name: name, Reason: record.Spec.Type + " agents answer once"}
	}
	if err := wk.recordReopening(t, r, w); err != nil || wk.c.kernel == nil {
		return err // before Start no agent runs; Start makes its host
	}
	return wk.ensureHost(t)
}

// reopenByCall is Reopen for a tool call, of an agent that must have ended.
func (wk *waker) reopenByCall(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	wk.waking.Lock()
	defer wk.waking.Unlock()
	if record := t.Record(); !record.Closed {
		return &actors.RunningError{Name: agent.DisplayName(record.Spec)}
	}
	return wk.reopenAs(t, r, w)
}

// reopenRole returns the role in which an agent that has ended works again when it gets
// mail.
func reopenRole(l agent.Record) agent.Role {
	if l.Spec.Role == agent.Foreground {
		return agent.Background // no call waits for it any more
	}
	return l.Spec.Role
}

// recordReopening records that an agent works again, and for which. waking is held.
func (wk *waker) recordReopening(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	if err := t.Reopen(r, w); err != nil {
		return err
	}
	wk.c.registry.AddWorker(t.ID(), w)
	return nil
}

// firstSender returns the sender of the oldest of some messages.
func firstSender(mail []mailbox.Envelope) mailbox.AgentID {
	if len(mail) == 0 {
		return ""
	}
	return mail[0].From.Agent
}

// reopenFor wakes an agent that has ended for a message of another, unless it was
// stopped. An agent that cannot be woken finds the message in its transcript if it ever
// works again.
func (wk *waker) reopenFor(id, by mailbox.AgentID) error {
	t, ok := wk.c.opts.Store.Get(id)
	if !ok {
		return fmt.Errorf("there is no agent %s to report to", id)
	}
	if l := t.Record(); !l.Closed || l.Outcome == agent.Stopped || id == agent.LeadID {
		return nil
	}
	if err := wk.Reopen(t.ID(), by); !errors.As(err, new(*actors.FinalError)) {
		return err
	}
	return nil
}
