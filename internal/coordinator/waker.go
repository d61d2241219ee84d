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

// waker brings agents to life that have no host.
type waker struct {
	c *Coordinator

	// reviving guards kernel, scope and end of the coordinator until Start has set
	// them, and lets an agent come to life once, whoever wakes it.
	waking sync.Mutex
}

// ensureHost gives an agent a host if it has none and something to live for.
// waking is held.
func (rv *waker) ensureHost(t *transcript.Transcript) error {
	life := t.Record()
	rv.c.registry.Add(life)
	switch {
	case !life.Spec.Role.IsAgent(), rv.c.hosts.get(t.ID()) != nil:
		return nil
	case life.Spec.Where != "":
		rv.c.relaunch(t)
		return nil
	case life.Closed && !rv.hasMissedMail(t):
		return nil
	}
	if err := rv.recordReopening(t, reopenRole(life), agent.Waking{By: rv.c.registry.Employer(life, firstSender(t.Unread()))}); err != nil {
		return err
	}
	_, err := rv.c.host(rv.c.scope, t, life.Incarnation+1)
	return err
}

// willRead says whether mail to an agent leads to a turn. One that has ended
// because it was done does not miss what was on its way then; one that was
// stopped stays so until it is written to again.
func willRead(l agent.Record) bool {
	if !l.Spec.Role.IsAgent() || l.Shutdown.Leaving() {
		return false
	}
	return !l.Closed || l.Outcome == agent.Completed && !l.Spec.OneShot
}

// hasMissedMail reports whether an agent has ended without mail that is to wake it.
func (rv *waker) hasMissedMail(t *transcript.Transcript) bool {
	l := t.Record()
	return l.Closed && willRead(l) && len(t.Unread()) > 0
}

// wakeIfWork brings an agent without a host to life if there is work for it: one
// whose mail came after its end, or whose host was given up.
func (rv *waker) wakeIfWork(t *transcript.Transcript) {
	if !rv.c.live.Load() || !t.Spec().Role.IsAgent() || t.IsReplica() || !t.HasWork() && !rv.hasMissedMail(t) {
		return
	}
	rv.c.change(func() {
		rv.waking.Lock()
		defer rv.waking.Unlock()
		if err := rv.ensureHost(t); err != nil {
			rv.c.publish(t, event.Warning{Text: fmt.Sprintf("%s has mail and could not be woken: %v", agent.DisplayName(t.Spec()), err)})
		}
		if h := rv.c.hosts.get(t.ID()); h != nil {
			h.ref.Tell(wakeUp{}) // it may have looked before the work was there
		}
	})
}

// Reopen lets an agent that has ended work again, with the same id, conversation,
// tools, model and mode, in the background. The caller has something for it to
// do, a message of by, who is told of its end if that is an agent. It does
// nothing for an agent that has not ended.
func (rv *waker) Reopen(id, by mailbox.AgentID) error {
	t, err := rv.c.transcript(id)
	if err != nil {
		return err
	}
	if rv.c.isAtOwner(t) {
		return rv.c.opts.Owner.Reopen(t.ID(), by)
	}
	if l := t.Record(); !l.Closed && !l.Shutdown.Leaving() {
		return nil // no message to one that lives waits for another that is brought to life
	}
	rv.waking.Lock()
	defer rv.waking.Unlock()
	life := t.Record()
	return rv.reopenAs(t, reopenRole(life), agent.Waking{By: rv.c.registry.Employer(life, by)})
}

// reopenAs is Reopen in a role and for a tool call, if there is one. reviving is held.
func (rv *waker) reopenAs(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	life := t.Record()
	name := agent.DisplayName(life.Spec)
	switch {
	case life.Shutdown.Leaving():
		return &actors.FinalError{Name: name, Reason: turn.ShutDownBy(rv.c.nameOf(life.Shutdown.By)).Error()}
	case !life.Closed:
		return nil
	case !life.Spec.Role.IsAgent():
		return &actors.FinalError{Name: name, Reason: life.Reason}
	case life.Reason == turn.ErrKilled.Error():
		return &actors.FinalError{Name: name, Reason: life.Reason}
	case life.Spec.OneShot:
		return &actors.FinalError{Name: name, Reason: life.Spec.Type + " agents answer once"}
	}
	if err := rv.recordReopening(t, r, w); err != nil || rv.c.kernel == nil {
		return err // before Start nobody runs; Start brings it to life
	}
	return rv.ensureHost(t)
}

// reopenByCall is Reopen for a tool call, of an agent that must have ended.
func (rv *waker) reopenByCall(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	rv.waking.Lock()
	defer rv.waking.Unlock()
	if life := t.Record(); !life.Closed {
		return &actors.RunningError{Name: agent.DisplayName(life.Spec)}
	}
	return rv.reopenAs(t, r, w)
}

// reopenRole is the role in which an agent that has ended works again when it is
// written to.
func reopenRole(l agent.Record) agent.Role {
	if l.Spec.Role == agent.Foreground {
		return agent.Background // nobody waits for it any more
	}
	return l.Spec.Role
}

// recordReopening records that an agent works again and for whom. reviving is held.
func (rv *waker) recordReopening(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	if err := t.Reopen(r, w); err != nil {
		return err
	}
	rv.c.registry.Employ(t.ID(), w)
	return nil
}

// firstSender returns who sent the oldest of some messages.
func firstSender(mail []mailbox.Envelope) mailbox.AgentID {
	if len(mail) == 0 {
		return ""
	}
	return mail[0].From.Agent
}

// reopenFor wakes an agent that has ended for the report of another that is linked
// to it, if it did not end by being stopped. What cannot be woken finds the
// report in its transcript if it ever works again.
func (rv *waker) reopenFor(id, by mailbox.AgentID) error {
	t, ok := rv.c.opts.Store.Get(id)
	if !ok {
		return fmt.Errorf("there is no agent %s to report to", id)
	}
	if l := t.Record(); !l.Closed || l.Outcome == agent.Stopped || id == agent.LeadID {
		return nil
	}
	if err := rv.Reopen(t.ID(), by); !errors.As(err, new(*actors.FinalError)) {
		return err
	}
	return nil
}
