package peer

import (
	"fmt"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/session"
)

// Allowlist ask the user before the first message leaves for a session elsewhere.
type Allowlist struct {
	a *Service

	mu   sync.Mutex
	open map[string]*Reply // by session; guarded by mu
}

// of says whether the letters of a relay may leave: taken is yes, held that the
// user is asked. What was said is kept with the session.
func (c *Allowlist) of(f *relay) Reply {
	if b, known := c.a.o.Record.Get().Bridge(f.session); known {
		return verdict(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.open[f.session]; r != nil {
		if r.State != Waiting {
			delete(c.open, f.session) // it was not kept: the next letter asks again
		}
		return *r
	}
	return c.inquire(f)
}

func verdict(b session.Bridge) Reply {
	if b.Allowed {
		return Reply{State: Taken}
	}
	return Reply{State: Refused, Reason: fmt.Sprintf("the user lets no messages go there (changed by: swarm bridge allow %s)", b.Session)}
}

// inquire asks the user; mu is held.
func (c *Allowlist) inquire(f *relay) Reply {
	q, err := c.a.o.Agents.AskUser(f.m.Transcript().ID(), []event.Choice{aboutBridge(f.session)}, func(_ string, said event.Resolution) error {
		return c.settle(f.session, said)
	})
	if err != nil {
		return Reply{State: Refused, Reason: fmt.Sprintf("the user has not consented to messages to this session, and cannot be asked: %v (consent is given by: swarm bridge allow %s)", err, f.session)}
	}
	if c.open == nil {
		c.open = map[string]*Reply{}
	}
	r := Reply{State: Waiting, Reason: "the user is asked whether messages may go there"}
	c.open[f.session] = &r
	c.a.begin(func() {
		if _, err := q.Wait(c.a.ctx); err != nil && c.a.ctx.Err() == nil {
			c.a.o.Logger.Warn("the user's word on a session elsewhere could not be kept", "session", f.session, "error", err)
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
func (c *Allowlist) settle(session string, said event.Resolution) error {
	if said.State == event.QuestionExpired {
		c.settled(session, &Reply{State: Refused, Reason: "the user did not say in time whether messages may go there"})
		return nil
	}
	allowed := slices.Contains(append(slices.Concat(said.Answer.Choices...), said.Answer.Text), letItGo)
	if err := c.a.Allow(session, allowed); err != nil {
		return err
	}
	c.settled(session, nil)
	return nil
}

// settled notes the end of a question; nil is that the file says the rest.
func (c *Allowlist) settled(session string, r *Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == nil {
		delete(c.open, session)
		return
	}
	c.open[session] = r
}
