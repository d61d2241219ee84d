package peer

import (
	"fmt"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/session"
)

// Allowlist holds the other sessions behind a NATS server that this session may write
// to. It asks the user before the first message to one.
type Allowlist struct {
	service *Service

	mu        sync.Mutex
	questions map[string]*Reply // state of the question by session; guarded by mu
}

// check returns Taken if messages of a relay may be sent, and Waiting while the user is
// asked. Answers are stored in the session's record.
func (l *Allowlist) check(f *relay) Reply {
	if b, known := l.service.options.Record.Get().Bridge(f.session); known {
		return replyForBridge(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.questions[f.session]; r != nil {
		if r.State != Waiting {
			delete(l.questions, f.session) // the answer was not stored: ask again
		}
		return *r
	}
	return l.askUser(f)
}

func replyForBridge(b session.Bridge) Reply {
	if b.Allowed {
		return Reply{State: Taken}
	}
	return Reply{State: Refused, Reason: fmt.Sprintf("the user lets no messages go there (changed by: swarm bridge allow %s)", b.Session)}
}

// askUser asks the user; mu is held.
func (l *Allowlist) askUser(f *relay) Reply {
	q, err := l.service.options.Agents.AskUser(f.member.Transcript().ID(), []event.Choice{consentQuestion(f.session)}, func(_ string, said event.Resolution) error {
		return l.decide(f.session, said)
	})
	if err != nil {
		return Reply{State: Refused, Reason: fmt.Sprintf("the user has not consented to messages to this session, and cannot be asked: %v (consent is given by: swarm bridge allow %s)", err, f.session)}
	}
	if l.questions == nil {
		l.questions = map[string]*Reply{}
	}
	r := Reply{State: Waiting, Reason: "the user is asked whether messages may go there"}
	l.questions[f.session] = &r
	l.service.run(func() {
		if _, err := q.Wait(l.service.ctx); err != nil && l.service.ctx.Err() == nil {
			l.service.options.Logger.Warn("the user's answer about a session elsewhere could not be stored", "session", f.session, "error", err)
			l.setQuestion(f.session, nil) // the next message asks again
		}
		f.retryNow()
	})
	return r
}

const (
	allowLabel  = "Allow"
	refuseLabel = "Refuse"
)

func consentQuestion(session string) event.Choice {
	return event.Choice{
		Header:   "Bridge",
		Question: fmt.Sprintf("May the agents of this session write to session %s, which is reached through the NATS server and may be of somebody else?", session),
		Options:  []event.Option{{Label: allowLabel, Description: "from now on, until you withdraw it by: swarm bridge withdraw " + session}, {Label: refuseLabel, Description: "no message goes there"}},
	}
}

// decide stores the user's answer. No answer in time counts as no consent and is not
// stored.
func (l *Allowlist) decide(session string, said event.Resolution) error {
	if said.State == event.QuestionExpired {
		l.setQuestion(session, &Reply{State: Refused, Reason: "the user did not say in time whether messages may go there"})
		return nil
	}
	allowed := slices.Contains(append(slices.Concat(said.Answer.Choices...), said.Answer.Text), allowLabel)
	if err := l.service.Allow(session, allowed); err != nil {
		return err
	}
	l.setQuestion(session, nil)
	return nil
}

// setQuestion records the end of a question; with nil the session's record has the
// answer.
func (l *Allowlist) setQuestion(session string, r *Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == nil {
		delete(l.questions, session)
		return
	}
	l.questions[session] = r
}
