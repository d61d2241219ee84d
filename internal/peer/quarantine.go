package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
)

// maxHeld bounds the messages about which the user is asked at the same time. A further
// one replaces the oldest.
const maxHeld = 100

// defaultExpiry is how long a message waits for the user's answer.
const defaultExpiry = 5 * time.Minute

// Quarantine holds the messages of other sessions about which the user is asked. They
// are stored with the member for their session, as are the user's answers: after a
// restart the user is asked the same question under the same id.
type Quarantine struct {
	service *Service

	mu       sync.Mutex                         // held while a message is held or decided
	withdraw map[string]context.CancelCauseFunc // withdraws a question, by its id; guarded by mu
}

var errDropped = errors.New("newer messages of other sessions took its place")

// start asks again about the messages of an earlier run, with the current rule.
func (q *Quarantine) start(m *roster.Member) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range m.Transcript().Held().All() {
		if l.Decided() {
			continue
		}
		if err := q.applyRule(m, l); err != nil {
			q.service.options.Logger.Warn("a message of another session waits for the next start", "member", m.Transcript().ID(), "message", l.ID, "error", err)
		}
	}
}

// applyRule applies the current rule to a held message; mu is held.
func (q *Quarantine) applyRule(m *roster.Member, l transcript.HeldMessage) error {
	rule, why := q.service.inboundRule(m.Transcript().ID(), l.Mode)
	switch {
	case roster.HasSent(m.Transcript(), string(l.ID)), rule == session.InboundAccept: // killed between the two records
		return q.deliver(m, l, "")
	case rule == session.InboundRefuse:
		return m.Transcript().Held().Decide(l.ID, transcript.Consent{State: transcript.ConsentDropped, Note: why})
	}
	return q.askUser(m, l, why)
}

// replyToKnown returns the state of a message that was posted before.
func (q *Quarantine) replyToKnown(from mailbox.AgentID, id mailbox.ID) (Reply, bool) {
	t, ok := q.service.options.Store.Get(from)
	if !ok {
		return Reply{}, false
	}
	if l, held := t.Held().Get(id); held {
		return replyOf(l), true
	}
	return Reply{State: Taken}, roster.HasSent(t, string(id))
}

// replyOf returns the reply to the sender of a held message.
func replyOf(l transcript.HeldMessage) Reply {
	switch l.State {
	case transcript.ConsentAllowed:
		return Reply{State: Taken, End: Delivered, Reason: "its user let the message in"}
	case transcript.ConsentDenied:
		r := Reply{State: Refused, End: Denied, Reason: "its user does not let the message in"}
		if l.Note != "" {
			r.Reason += ": " + l.Note
		}
		return r
	case transcript.ConsentExpired:
		return Reply{State: Refused, End: Expired, Reason: "its user did not say in time whether the message may come in"}
	case transcript.ConsentDropped:
		return Reply{State: Refused, Reason: l.Note}
	}
	return Reply{State: Waiting, OnDisk: true, Reason: "its user is asked whether the message may come in" + until(l.Expires)}
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", until " + t.Local().Format("15:04:05")
}

// hold stores a message, asks the user about it once, and returns its state.
func (q *Quarantine) hold(m *roster.Member, in Message) (Reply, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.makeRoom(); err != nil {
		return Reply{}, err
	}
	l := transcript.HeldMessage{ID: in.ID, From: in.From, Mode: in.Mode, Summary: in.Summary, Body: in.Text}
	if within := cmp.Or(q.service.options.InboundExpiry, defaultExpiry); within > 0 {
		l.Expires = time.Now().Add(within)
	}
	l, err := m.Transcript().Held().Add(l)
	if err != nil {
		return Reply{}, err
	}
	_, why := q.service.inboundRule(m.Transcript().ID(), in.Mode)
	if !l.Decided() && q.withdraw[questionIDFor(m, l.ID)] == nil {
		err = q.askUser(m, l, why)
	}
	return replyOf(l), err
}

// makeRoom drops the oldest of too many messages; mu is held.
func (q *Quarantine) makeRoom() error {
	type waiting struct {
		t *transcript.Transcript
		l transcript.HeldMessage
	}
	var all []waiting
	for _, t := range q.service.options.Store.All() {
		for _, l := range t.Held().All() {
			if !l.Decided() {
				all = append(all, waiting{t, l})
			}
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return a.l.Asked.Compare(b.l.Asked) })
	for _, w := range all[:max(0, len(all)-maxHeld+1)] {
		why := fmt.Sprintf("%d newer messages of other sessions wait for its user", maxHeld)
		if err := w.t.Held().Decide(w.l.ID, transcript.Consent{State: transcript.ConsentDropped, Note: why}); err != nil {
			return err
		}
		if withdraw := q.withdraw[questionID(w.t.ID(), w.l.ID)]; withdraw != nil {
			withdraw(errDropped)
		}
	}
	return nil
}

func questionIDFor(m *roster.Member, id mailbox.ID) string {
	return questionID(m.Transcript().ID(), id)
}

// questionID returns the id of the question about a message, which is the same after a
// restart.
func questionID(from mailbox.AgentID, id mailbox.ID) string {
	return "q" + mailbox.RefOf([]byte(string(from) + " " + string(id))).Hash()[:10]
}

// askUser asks the user about a message that is on disk; mu is held.
func (q *Quarantine) askUser(m *roster.Member, l transcript.HeldMessage, why string) error {
	question := event.Question{
		ID: questionIDFor(m, l.ID), Reason: why, Asked: l.Asked, Expires: l.Expires,
		Choices: []event.Choice{q.question(m, l)},
	}
	ctx, withdraw := context.WithCancelCause(q.service.ctx)
	asked, err := q.service.options.Agents.PoseQuestion(m.Transcript().ID(), question, func(s event.Resolution) error { return q.decide(m, l, s) })
	if err != nil {
		withdraw(nil)
		return err
	}
	if q.withdraw == nil {
		q.withdraw = map[string]context.CancelCauseFunc{}
	}
	q.withdraw[question.ID] = withdraw
	q.service.run(func() {
		defer withdraw(nil)
		if _, err := asked.Wait(ctx); err != nil && ctx.Err() == nil {
			q.service.options.Logger.Warn("the end of a question about a message could not be recorded", "question", question.ID, "error", err)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.withdraw, question.ID)
	})
	return nil
}

const (
	deliverLabel = "Deliver"
	rejectLabel  = "Refuse"
)

func (q *Quarantine) question(m *roster.Member, l transcript.HeldMessage) event.Choice {
	session, bridged, _ := m.Transcript().ID().Peer()
	where := "through the NATS server, whose permissions alone tell that it is that session"
	if !bridged {
		where = "on this machine"
		if info, err := q.service.neighbour("", session, true); err == nil {
			where = "in " + info.Dir
		}
	}
	return event.Choice{
		Header: "Message",
		Question: fmt.Sprintf("%s of session %s (%s) writes: %s - may the lead read it?",
			cmp.Or(mailbox.FirstLine(l.From, 100), "an agent"), session, where, strconv.Quote(mailbox.FirstLine(l.Body, 500))),
		Options: []event.Option{{Label: deliverLabel, Description: "the lead reads it as data of another session"}, {Label: rejectLabel, Description: "the sender is told that it was refused"}},
	}
}

// decide applies the user's answer to a message.
func (q *Quarantine) decide(m *roster.Member, l transcript.HeldMessage, s event.Resolution) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now, _ := m.Transcript().Held().Get(l.ID); now.Decided() {
		return transcript.ErrDecided
	}
	said := transcript.Consent{State: transcript.ConsentDenied, By: s.By, Note: cmp.Or(s.Answer.Note, s.Answer.Text)}
	switch {
	case s.State == event.QuestionExpired:
		said.State = transcript.ConsentExpired
	case slices.Contains(append(slices.Concat(s.Answer.Choices...), s.Answer.Text), deliverLabel):
		return q.deliver(m, l, s.By)
	}
	return m.Transcript().Held().Decide(l.ID, said)
}

// deliver sends a message to the lead; mu is held. Its delivery is recorded second: if
// the session is killed between the two records, it is delivered again and dropped as a
// duplicate.
func (q *Quarantine) deliver(m *roster.Member, l transcript.HeldMessage, by string) error {
	text, err := q.service.options.Store.HeldBody(l)
	if err != nil {
		return err
	}
	if err := toLead(m, l.Summary, text, l.ID); err != nil {
		return err
	}
	return m.Transcript().Held().Decide(l.ID, transcript.Consent{State: transcript.ConsentAllowed, By: by})
}
