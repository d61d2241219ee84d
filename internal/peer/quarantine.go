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

// mostHeld bounds the messages of other sessions about which the user is asked at
// once. One more takes the place of the oldest.
const mostHeld = 100

// heldFor is how long the user has to answer, if the options do not say.
const heldFor = 5 * time.Minute

// Quarantine holds the messages of other sessions about which the user is asked.
// They are on disk with the member that stands for their session, and what was said
// about them too: after a restart the user is asked the same under the same id.
type Quarantine struct {
	service *Service

	mu  sync.Mutex                         // one message at a time is held or decided
	ask map[string]context.CancelCauseFunc // withdraws a question, by its id; guarded by mu
}

var errDropped = errors.New("newer messages of other sessions took its place")

// start asks again about what lay here when the session ended. What the options say
// of such a message now counts.
func (q *Quarantine) start(m *roster.Member) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range m.Transcript().Held().All() {
		if l.Decided() {
			continue
		}
		if err := q.judge(m, l); err != nil {
			q.service.o.Logger.Warn("a message of another session waits for the next start", "member", m.Transcript().ID(), "message", l.ID, "error", err)
		}
	}
}

// judge does what is to be done about a message that waits; mu is held.
func (q *Quarantine) judge(m *roster.Member, l transcript.HeldMessage) error {
	rule, why := q.service.rule(m.Transcript().ID(), l.Mode)
	switch {
	case roster.HasSent(m.Transcript(), string(l.ID)), rule == session.InboundAccept: // killed between the two records
		return q.letIn(m, l, "")
	case rule == session.InboundRefuse:
		return m.Transcript().Held().Decide(l.ID, transcript.Consent{State: transcript.ConsentDropped, Note: why})
	}
	return q.inquire(m, l, why)
}

// known says what became of a message that was posted before.
func (q *Quarantine) known(from mailbox.AgentID, id mailbox.ID) (Reply, bool) {
	t, ok := q.service.o.Store.Get(from)
	if !ok {
		return Reply{}, false
	}
	if l, held := t.Held().Get(id); held {
		return becameOf(l), true
	}
	return Reply{State: Taken}, roster.HasSent(t, string(id))
}

// becameOf is what the sender of a message is told.
func becameOf(l transcript.HeldMessage) Reply {
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
	return Reply{State: Waiting, Kept: true, Reason: "its user is asked whether the message may come in" + until(l.Expires)}
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", until " + t.Local().Format("15:04:05")
}

// hold asks the user about a message, once, and says how far that is.
func (q *Quarantine) hold(m *roster.Member, in Message) (Reply, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.makeRoom(); err != nil {
		return Reply{}, err
	}
	l := transcript.HeldMessage{ID: in.ID, From: in.From, Mode: in.Mode, Summary: in.Summary, Body: in.Text}
	if within := cmp.Or(q.service.o.InboundExpiry, heldFor); within > 0 {
		l.Expires = time.Now().Add(within)
	}
	l, err := m.Transcript().Held().Add(l)
	if err != nil {
		return Reply{}, err
	}
	_, why := q.service.rule(m.Transcript().ID(), in.Mode)
	if !l.Decided() && q.ask[questionAbout(m, l.ID)] == nil {
		err = q.inquire(m, l, why)
	}
	return becameOf(l), err
}

// makeRoom drops the oldest of too many messages; mu is held.
func (q *Quarantine) makeRoom() error {
	type waiting struct {
		t *transcript.Transcript
		l transcript.HeldMessage
	}
	var all []waiting
	for _, t := range q.service.o.Store.All() {
		for _, l := range t.Held().All() {
			if !l.Decided() {
				all = append(all, waiting{t, l})
			}
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return a.l.Asked.Compare(b.l.Asked) })
	for _, w := range all[:max(0, len(all)-mostHeld+1)] {
		why := fmt.Sprintf("%d newer messages of other sessions wait for its user", mostHeld)
		if err := w.t.Held().Decide(w.l.ID, transcript.Consent{State: transcript.ConsentDropped, Note: why}); err != nil {
			return err
		}
		if withdraw := q.ask[questionOf(w.t.ID(), w.l.ID)]; withdraw != nil {
			withdraw(errDropped)
		}
	}
	return nil
}

func questionAbout(m *roster.Member, id mailbox.ID) string {
	return questionOf(m.Transcript().ID(), id)
}

// questionOf is the same after a restart, and another for every message.
func questionOf(from mailbox.AgentID, id mailbox.ID) string {
	return "q" + mailbox.RefOf([]byte(string(from) + " " + string(id))).Hash()[:10]
}

// inquire puts a message that is on disk to the user; mu is held.
func (q *Quarantine) inquire(m *roster.Member, l transcript.HeldMessage, why string) error {
	question := event.Question{
		ID: questionAbout(m, l.ID), Reason: why, Asked: l.Asked, Expires: l.Expires,
		Choices: []event.Choice{q.about(m, l)},
	}
	ctx, withdraw := context.WithCancelCause(q.service.ctx)
	asked, err := q.service.o.Agents.PoseQuestion(m.Transcript().ID(), question, func(s event.Resolution) error { return q.decide(m, l, s) })
	if err != nil {
		withdraw(nil)
		return err
	}
	if q.ask == nil {
		q.ask = map[string]context.CancelCauseFunc{}
	}
	q.ask[question.ID] = withdraw
	q.service.begin(func() {
		defer withdraw(nil)
		if _, err := asked.Wait(ctx); err != nil && ctx.Err() == nil {
			q.service.o.Logger.Warn("the end of a question about a letter could not be recorded", "question", question.ID, "error", err)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.ask, question.ID)
	})
	return nil
}

const (
	letItIn  = "Deliver"
	keepItUp = "Refuse"
)

func (q *Quarantine) about(m *roster.Member, l transcript.HeldMessage) event.Choice {
	session, bridged, _ := m.Transcript().ID().Session()
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
		Options: []event.Option{{Label: letItIn, Description: "the lead reads it as data of another session"}, {Label: keepItUp, Description: "the sender is told that it was refused"}},
	}
}

// decide does what the user has said about a message.
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
	case slices.Contains(append(slices.Concat(s.Answer.Choices...), s.Answer.Text), letItIn):
		return q.letIn(m, l, s.By)
	}
	return m.Transcript().Held().Decide(l.ID, said)
}

// letIn gives a message to the lead; mu is held. That it was let in is the second
// record: killed between the two it is let in again, which changes nothing.
func (q *Quarantine) letIn(m *roster.Member, l transcript.HeldMessage, by string) error {
	text, err := q.service.o.Store.HeldBody(l)
	if err != nil {
		return err
	}
	if err := toLead(m, l.Summary, text, l.ID); err != nil {
		return err
	}
	return m.Transcript().Held().Decide(l.ID, transcript.Consent{State: transcript.ConsentAllowed, By: by})
}
