package swarm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// Inbound says what becomes of messages of other sessions.
type Inbound string

// What Inbound can be. The zero value is accept, or hold in a session that
// bypasses permissions.
const (
	InboundAccept Inbound = "accept" // the lead reads them
	InboundHold   Inbound = "hold"   // the user is asked about each; where nobody can be asked it is refused
	InboundRefuse Inbound = "refuse"
)

func (i Inbound) settle() error {
	switch i {
	case "", InboundAccept, InboundHold, InboundRefuse:
		return nil
	}
	return &OptionError{fmt.Errorf("--inbound is %q; give accept, hold or refuse", i)}
}

// inbound returns what the session does with messages of other sessions.
func (s *Session) inbound() Inbound {
	switch {
	case s.opts.Inbound != "":
		return s.opts.Inbound
	case s.opts.Mode == string(permission.Bypass):
		return InboundHold
	}
	return InboundAccept
}

// sessionLetter is a message as another session posts it.
type sessionLetter struct {
	Session string     `json:"session"` // whose it is
	Dir     string     `json:"dir"`     // that it works on
	From    string     `json:"from"`    // the agent that wrote it
	ID      mailbox.ID `json:"id"`      // two posts with the same are one message
	Summary string     `json:"summary,omitempty"`
	Text    string     `json:"text"`
}

func (l sessionLetter) check() error {
	switch {
	case validID(l.Session) != nil:
		return errors.New("the letter does not say of which session it is")
	case !l.ID.Valid():
		return errors.New("the letter has no valid id")
	case strings.TrimSpace(l.Text) == "":
		return errors.New("the letter is empty")
	case len(l.Text) > longestAbroad:
		return &mailbox.TooLargeError{What: "letter", Size: len(l.Text), Limit: longestAbroad}
	}
	return nil
}

// letterState is what became of a post.
type letterState string

const (
	letterTaken   letterState = "taken"   // it is on disk
	letterHeld    letterState = "held"    // the user is asked; post it again to hear the end
	letterBusy    letterState = "busy"    // too much has come; post it again later
	letterRefused letterState = "refused" // it is not taken, and never will be
)

type letterReply struct {
	State  letterState `json:"state"`
	Reason string      `json:"reason,omitempty"`
}

// mostHeld bounds the messages about which the user is asked at once.
const mostHeld = 100

// inboundDesk holds the messages of other sessions about which the user is asked.
// They are on the sender's disk until then, which posts them again after a restart.
type inboundDesk struct {
	s *Session

	mu   sync.Mutex
	held map[string]*letterReply // by session and id; guarded by mu
}

var errNoLetter = errors.New("the request holds no letter")

var errHeldFull = errors.New("too many messages of other sessions wait for the user")

// takeLetter settles a post of another session, for which from stands here. An error
// means that it may be posted again.
func (s *Session) takeLetter(from mailbox.AgentID, in *sessionLetter) (letterReply, error) {
	if err := in.check(); err != nil {
		return letterReply{State: letterRefused, Reason: err.Error()}, nil
	}
	lead, err := s.lead()
	if err != nil {
		return letterReply{}, err
	}
	if s.inbound() == InboundRefuse {
		return letterReply{State: letterRefused, Reason: "it takes no messages of other sessions"}, nil
	}
	if got := s.abroad.intake.admit(from, *in, fromAbroad(lead), time.Now()); got.State != letterTaken {
		return got, nil
	}
	m, err := s.abroad.member(from)
	if err != nil {
		return letterReply{}, err
	}
	if s.inbound() == InboundHold {
		return s.abroad.inbox.hold(m, *in)
	}
	return letterReply{State: letterTaken}, deliver(m, *in)
}

// fromAbroad counts the unread messages of other sessions.
func fromAbroad(t *transcript.Transcript) (n int) {
	for _, e := range t.Unread() {
		if _, _, abroad := e.From.Agent.Session(); abroad {
			n++
		}
	}
	return n
}

// deliver gives a letter to the lead. It returns when that is on disk.
func deliver(m *team.Outsider, in sessionLetter) error {
	_, err := m.Send(team.Letter{
		To: actors.LeadName, Text: in.Text, Summary: in.Summary, Class: mailbox.ClassSteer, Key: string(in.ID),
	})
	return err
}

// hold asks the user about a letter, once, and says how far that is.
func (d *inboundDesk) hold(m *team.Outsider, in sessionLetter) (letterReply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := string(m.Transcript().ID()) + " " + string(in.ID)
	if r := d.held[key]; r != nil {
		return *r, nil
	}
	if !d.room() {
		return letterReply{}, errHeldFull
	}
	q, err := d.s.agents.Inquire(m.Transcript(), []event.Choice{aboutLetter(m, in)}, func(_ string, s ask.Settlement) error {
		return d.settle(key, m, in, s)
	})
	if errors.Is(err, ErrUnattended) {
		return letterReply{State: letterRefused, Reason: "nobody is there to be asked whether it may come in"}, nil
	}
	if err != nil {
		return letterReply{}, err
	}
	if d.held == nil {
		d.held = map[string]*letterReply{}
	}
	r := &letterReply{State: letterHeld, Reason: "its user is asked whether the message may come in"}
	d.held[key] = r
	d.s.abroad.begin(func() {
		if _, err := q.Wait(d.s.abroad.ctx); err != nil && d.s.abroad.ctx.Err() == nil {
			d.s.opts.Logger.Warn("the end of a question about a letter could not be recorded", "question", q.ID(), "error", err)
			d.forget(key) // the next post asks again
		}
	})
	return *r, nil
}

// room makes room for one more; mu is held.
func (d *inboundDesk) room() bool {
	for key, r := range d.held {
		if len(d.held) < mostHeld {
			break
		}
		if r.State != letterHeld {
			delete(d.held, key)
		}
	}
	return len(d.held) < mostHeld
}

func (d *inboundDesk) forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.held, key)
}

const (
	letItIn  = "Deliver"
	keepItUp = "Refuse"
)

func aboutLetter(m *team.Outsider, in sessionLetter) event.Choice {
	where := in.Dir
	if _, bridged, _ := m.Transcript().ID().Session(); bridged {
		where = "through the NATS server, whose permissions alone tell that it is that session"
	}
	return event.Choice{
		Header:   "Message",
		Question: fmt.Sprintf("%s of session %s (%s) writes: %s - may the lead read it?", first(firstLine(in.From, 100), "an agent"), in.Session, where, firstLine(in.Text, 500)),
		Options:  []event.Option{{Label: letItIn, Description: "the lead reads it as data of another session"}, {Label: keepItUp, Description: "the sender is told that it was refused"}},
	}
}

// settle does what the user has said about a letter.
func (d *inboundDesk) settle(key string, m *team.Outsider, in sessionLetter, s ask.Settlement) error {
	r := letterReply{State: letterRefused, Reason: "the user does not let it in"}
	switch {
	case s.State == ask.Expired:
		r.Reason = "the user did not answer in time"
	case slices.Contains(append(slices.Concat(s.Answer.Choices...), s.Answer.Text), letItIn):
		if err := deliver(m, in); err != nil {
			return err
		}
		r = letterReply{State: letterTaken}
	case s.Answer.Note != "", s.Answer.Text != "":
		r.Reason += ": " + first(s.Answer.Note, s.Answer.Text)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[key] = &r
	return nil
}
