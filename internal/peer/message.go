package peer

import (
	"errors"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
)

// rule returns what becomes of a message of a session that says it is in a
// permission mode, and why. Through a NATS server nobody proves what it says: there
// it counts only where it makes the rule stricter.
func (s *Service) rule(from mailbox.AgentID, mode string) (session.Inbound, string) {
	const bypass = string(permission.Bypass)
	_, bridged, _ := from.Session()
	switch i := s.o.Inbound; {
	case i == session.InboundRefuse:
		return i, "it takes no messages of other sessions"
	case i == session.InboundHold:
		return i, "this session asks about every message of others (inbound: hold)"
	case i != "":
		return i, ""
	case s.o.Mode == bypass && (bridged || mode != bypass):
		return session.InboundHold, "this session bypasses permissions"
	case s.o.Mode != bypass && mode == bypass:
		return session.InboundHold, "the other session bypasses permissions and this one does not"
	}
	return session.InboundAccept, ""
}

// Message is a message as another session posts it.
type Message struct {
	Session string     `json:"session"`        // whose it is
	Dir     string     `json:"dir"`            // that it works on
	From    string     `json:"from"`           // the agent that wrote it
	ID      mailbox.ID `json:"id"`             // two posts with the same are one message
	Mode    string     `json:"mode,omitempty"` // of permissions, of the session
	Summary string     `json:"summary,omitempty"`
	Text    string     `json:"text"`
	// Again asks what became of a message that is kept; there is no text then.
	Again bool `json:"again,omitempty"`
}

func (l Message) check() error {
	switch {
	case session.CheckID(l.Session) != nil:
		return errors.New("the letter does not say of which session it is")
	case !l.ID.Valid():
		return errors.New("the letter has no valid id")
	case strings.TrimSpace(l.Text) == "" && !l.Again:
		return errors.New("the letter is empty")
	case len(l.Text) > longestText:
		return &mailbox.TooLargeError{What: "letter", Size: len(l.Text), Limit: longestText}
	}
	return nil
}

// State is what became of a post.
type State string

const (
	Taken   State = "taken"   // it is on disk
	Waiting State = "held"    // the user is asked; ask again to hear the end
	Busy    State = "busy"    // too much has come; post it again later
	Refused State = "refused" // it is not taken, and never will be
)

type Reply struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
	Kept   bool   `json:"kept,omitempty"` // the text is on disk and need not come again
	End    End    `json:"end,omitempty"`  // of one that was held
}

// End is what became of a message that was held.
type End string

const (
	Delivered End = "delivered"
	Denied    End = "denied"
	Expired   End = "expired"
)

var (
	ErrNoMessage      = errors.New("the request holds no letter")
	errUnknownMessage = errors.New("the letter is not known any more; post it whole")
)

func notKnown(known bool) error {
	if known {
		return nil
	}
	return errUnknownMessage
}

// Receive takes a message of another session, for which from stands here. An error
// means that it may be posted again.
func (s *Service) Receive(from mailbox.AgentID, in *Message) (Reply, error) {
	if err := in.check(); err != nil {
		return Reply{State: Refused, Reason: err.Error()}, nil
	}
	lead, err := s.o.Lead()
	if err != nil {
		return Reply{}, err
	}
	if got, known := s.quarantine.known(from, in.ID); known || in.Again {
		return got, notKnown(known)
	}
	rule, why := s.rule(from, in.Mode)
	if rule == session.InboundRefuse {
		return Reply{State: Refused, Reason: why}, nil
	}
	if got := s.limiter.admit(from, *in, fromSessions(lead), time.Now()); got.State != Taken {
		return got, nil
	}
	m, err := s.member(from)
	if err != nil {
		return Reply{}, err
	}
	if rule == session.InboundHold {
		return s.quarantine.hold(m, *in)
	}
	return Reply{State: Taken}, toLead(m, in.Summary, in.Text, in.ID)
}

// fromSessions counts the unread messages of other sessions.
func fromSessions(t *transcript.Transcript) (n int) {
	for _, e := range t.Unread() {
		if _, _, abroad := e.From.Agent.Session(); abroad {
			n++
		}
	}
	return n
}

// toLead gives a message to the lead. It returns when that is on disk.
func toLead(m *roster.Member, summary, text string, id mailbox.ID) error {
	_, err := m.Send(team.Message{
		To: agent.LeadName, Text: text, Summary: summary, Class: mailbox.ClassSteer, Key: string(id),
	})
	return err
}
