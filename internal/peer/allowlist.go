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
	service *Service

	mu   sync.Mutex
	open map[string]*Reply // by session; guarded by mu
}

// of says whether the messages of a relay may leave: taken is yes, held that the
// user is asked. What was said is kept with the session.
func (l *Allowlist) of(f *relay) Reply {
	if b, known := l.service.o.Record.Get().Bridge(f.session); known {
		return verdict(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.open[f.session]; r != nil {
		if r.State != Waiting {
			delete(l.open, f.session) // it was not kept: the next message asks again
		}
		return *r
	}
	return l.inquire(f)
}

func verdict(b session.Bridge) Reply {
	if b.Allowed {
		return Reply{State: Taken}
	}
	return Reply{State: Refused, Reason: fmt.Sprintf("the user lets no messages go there (changed by: swarm bridge allow %s)", b.Session)}
}

// inquire asks the user; mu is held.
func (l *Allowlist) inquire(f *relay) Reply {
	q, err := l.service.o.Agents.AskUser(f.m.Transcript().ID(), []event.Choice{aboutBridge(f.session)}, func(_ string, said event.Resolution) error {
		return l.decide(f.session, said)
	})
	if err != nil {
		return Reply{State: Refused, Reason: fmt.Sprintf("the user has not consented to messages to this session, and cannot be asked: %v (consent is given by: swarm bridge allow %s)", err, f.session)}
	}
	if l.open == nil {
		l.open = map[string]*Reply{}
	}
	r := Reply{State: Waiting, Reason: "the user is asked whether messages may go there"}
	l.open[f.session] = &r
	l.service.begin(func() {
		if _, err := q.Wait(l.service.ctx); err != nil && l.service.ctx.Err() == nil {
			l.service.o.Logger.Warn("the user's word on a session elsewhere could not be kept", "session", f.session, "error", err)
			l.setOpen(f.session, nil) // the next post asks again
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

// decide keeps what the user has said. Silence is no consent, and is not kept.
func (l *Allowlist) decide(session string, said event.Resolution) error {
	if said.State == event.QuestionExpired {
		l.setOpen(session, &Reply{State: Refused, Reason: "the user did not say in time whether messages may go there"})
		return nil
	}
	allowed := slices.Contains(append(slices.Concat(said.Answer.Choices...), said.Answer.Text), letItGo)
	if err := l.service.Allow(session, allowed); err != nil {
		return err
	}
	l.setOpen(session, nil)
	return nil
}

// setOpen notes the end of a question; nil is that the file says the rest.
func (l *Allowlist) setOpen(session string, r *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == nil {
		delete(l.open, session)
		return
	}
	l.open[session] = r
}
