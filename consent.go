package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/session"
)

// SetBridge keeps whether messages may go to a session elsewhere. It returns when
// that is on disk.
func (s *Session) SetBridge(session string, allowed bool) error {
	err := s.record.Update(func(i *Info) error { return i.SetBridge(session, allowed) })
	if err == nil {
		s.abroad.poke()
	}
	return err
}

// WithdrawBridge forgets what was said about a session elsewhere: the user is
// asked again before the next message goes there.
func (s *Session) WithdrawBridge(session string) error {
	return s.record.Update(func(i *Info) error { return i.WithdrawBridge(session) })
}

// SetBridge is Session.SetBridge for a session that does not run.
func SetBridge(ctx context.Context, info Info, session string, allowed bool) error {
	return changeKept(ctx, info, func(i *Info) error { return i.SetBridge(session, allowed) })
}

// WithdrawBridge is Session.WithdrawBridge for a session that does not run.
func WithdrawBridge(ctx context.Context, info Info, session string) error {
	return changeKept(ctx, info, func(i *Info) error { return i.WithdrawBridge(session) })
}

// changeKept writes the file of a session that nobody runs, and keeps others from
// running it meanwhile.
func changeKept(ctx context.Context, info Info, change func(*Info) error) (err error) {
	rest := atRest(info)
	defer func() { err = errors.Join(err, rest.Close()) }()
	if _, err := rest.Coordinator(ctx); err != nil {
		return err
	}
	now, err := session.Read(info.Path) // it may have run since
	if err != nil {
		return err
	}
	return session.NewFile(now).Update(change)
}

// consents ask the user before the first message leaves for a session elsewhere.
type consents struct {
	s *Session

	mu   sync.Mutex
	open map[string]*letterReply // by session; guarded by mu
}

// of says whether the letters of a forwarder may leave: taken is yes, held that the
// user is asked. What was said is kept with the session.
func (c *consents) of(f *forwarder) letterReply {
	if b, known := c.s.Info().Bridge(f.session); known {
		return verdict(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.open[f.session]; r != nil {
		if r.State != letterHeld {
			delete(c.open, f.session) // it was not kept: the next letter asks again
		}
		return *r
	}
	return c.inquire(f)
}

func verdict(b Bridge) letterReply {
	if b.Allowed {
		return letterReply{State: letterTaken}
	}
	return letterReply{State: letterRefused, Reason: fmt.Sprintf("the user lets no messages go there (changed by: swarm bridge allow %s)", b.Session)}
}

// inquire asks the user; mu is held.
func (c *consents) inquire(f *forwarder) letterReply {
	q, err := c.s.agents.Inquire(f.m.Transcript().ID(), []event.Choice{aboutBridge(f.session)}, func(_ string, said event.Settlement) error {
		return c.settle(f.session, said)
	})
	if err != nil {
		return letterReply{State: letterRefused, Reason: fmt.Sprintf("the user has not consented to messages to this session, and cannot be asked: %v (consent is given by: swarm bridge allow %s)", err, f.session)}
	}
	if c.open == nil {
		c.open = map[string]*letterReply{}
	}
	r := letterReply{State: letterHeld, Reason: "the user is asked whether messages may go there"}
	c.open[f.session] = &r
	c.s.abroad.begin(func() {
		if _, err := q.Wait(c.s.abroad.ctx); err != nil && c.s.abroad.ctx.Err() == nil {
			c.s.opts.Logger.Warn("the user's word on a session elsewhere could not be kept", "session", f.session, "error", err)
			c.settled(f.session, nil) // the next post asks again
		}
		f.poke()
	})
	return r
}

const (
	letItGo = "Allow"
	keepIt  = "Refuse"
)

func aboutBridge(session string) event.Choice {
	return event.Choice{
		Header:   "Bridge",
		Question: fmt.Sprintf("May the agents of this session write to session %s, which is reached through the NATS server and may be of somebody else?", session),
		Options:  []event.Option{{Label: letItGo, Description: "from now on, until you withdraw it by: swarm bridge withdraw " + session}, {Label: keepIt, Description: "no message goes there"}},
	}
}

// settle keeps what the user has said. Silence is no consent, and is not kept.
func (c *consents) settle(session string, said event.Settlement) error {
	if said.State == event.QuestionExpired {
		c.settled(session, &letterReply{State: letterRefused, Reason: "the user did not say in time whether messages may go there"})
		return nil
	}
	allowed := slices.Contains(append(slices.Concat(said.Answer.Choices...), said.Answer.Text), letItGo)
	if err := c.s.SetBridge(session, allowed); err != nil {
		return err
	}
	c.settled(session, nil)
	return nil
}

// settled notes the end of a question; nil is that the file says the rest.
func (c *consents) settled(session string, r *letterReply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == nil {
		delete(c.open, session)
		return
	}
	c.open[session] = r
}
