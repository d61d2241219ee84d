package swarm

import (
	"errors"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
)

// inbound returns what becomes of a message of a session that says it is in a
// permission mode, and why. Through a NATS server nobody proves what it says: there
// it counts only where it makes the rule stricter.
func (s *Session) inbound(from mailbox.AgentID, mode string) (Inbound, string) {
	const bypass = string(permission.Bypass)
	_, bridged, _ := from.Session()
	switch i := s.opts.Inbound; {
	case i == InboundRefuse:
		return i, "it takes no messages of other sessions"
	case i == InboundHold:
		return i, "this session asks about every message of others (inbound: hold)"
	case i != "":
		return i, ""
	case s.opts.Mode == bypass && (bridged || mode != bypass):
		return InboundHold, "this session bypasses permissions"
	case s.opts.Mode != bypass && mode == bypass:
		return InboundHold, "the other session bypasses permissions and this one does not"
	}
	return InboundAccept, ""
}

// sessionLetter is a message as another session posts it.
type sessionLetter struct {
	Session string     `json:"session"`        // whose it is
	Dir     string     `json:"dir"`            // that it works on
	From    string     `json:"from"`           // the agent that wrote it
	ID      mailbox.ID `json:"id"`             // two posts with the same are one message
	Mode    string     `json:"mode,omitempty"` // of permissions, of the session
	Summary string     `json:"summary,omitempty"`
	Text    string     `json:"text"`
	// Again asks what became of a letter that is kept; there is no text then.
	Again bool `json:"again,omitempty"`
}

func (l sessionLetter) check() error {
	switch {
	case session.CheckID(l.Session) != nil:
		return errors.New("the letter does not say of which session it is")
	case !l.ID.Valid():
		return errors.New("the letter has no valid id")
	case strings.TrimSpace(l.Text) == "" && !l.Again:
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
	letterHeld    letterState = "held"    // the user is asked; ask again to hear the end
	letterBusy    letterState = "busy"    // too much has come; post it again later
	letterRefused letterState = "refused" // it is not taken, and never will be
)

type letterReply struct {
	State  letterState `json:"state"`
	Reason string      `json:"reason,omitempty"`
	Kept   bool        `json:"kept,omitempty"` // the text is on disk and need not come again
	End    letterEnd   `json:"end,omitempty"`  // of one that was held
}

// letterEnd is what became of a letter that was held.
type letterEnd string

const (
	letterDelivered letterEnd = "delivered"
	letterDenied    letterEnd = "denied"
	letterExpired   letterEnd = "expired"
)

var (
	errNoLetter      = errors.New("the request holds no letter")
	errUnknownLetter = errors.New("the letter is not known any more; post it whole")
)

func notKnown(known bool) error {
	if known {
		return nil
	}
	return errUnknownLetter
}

// takeLetter settles a post of another session, for which from stands here. An error
// means that it may be posted again.
func (s *Session) takeLetter(from mailbox.AgentID, in *sessionLetter) (letterReply, error) {
	if err := in.check(); err != nil {
		return letterReply{State: letterRefused, Reason: err.Error()}, nil
	}
	lead, err := s.lead.Get()
	if err != nil {
		return letterReply{}, err
	}
	if got, known := s.abroad.inbox.known(from, in.ID); known || in.Again {
		return got, notKnown(known)
	}
	rule, why := s.inbound(from, in.Mode)
	if rule == InboundRefuse {
		return letterReply{State: letterRefused, Reason: why}, nil
	}
	if got := s.abroad.intake.admit(from, *in, fromAbroad(lead), time.Now()); got.State != letterTaken {
		return got, nil
	}
	m, err := s.abroad.member(from)
	if err != nil {
		return letterReply{}, err
	}
	if rule == InboundHold {
		return s.abroad.inbox.hold(m, *in)
	}
	return letterReply{State: letterTaken}, deliver(m, in.Summary, in.Text, in.ID)
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
func deliver(m *team.Outsider, summary, text string, id mailbox.ID) error {
	_, err := m.Send(team.Letter{
		To: agent.LeadName, Text: text, Summary: summary, Class: mailbox.ClassSteer, Key: string(id),
	})
	return err
}
