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

// inboundRule returns how a message is handled whose session reports a permission mode,
// and why. Through a NATS server the mode is not authenticated, so there it can only
// make the rule stricter.
func (s *Service) inboundRule(from mailbox.AgentID, mode string) (session.Inbound, string) {
	const bypass = string(permission.Bypass)
	_, bridged, _ := from.Peer()
	switch i := s.options.Inbound; {
	case i == session.InboundRefuse:
		return i, "it takes no messages of other sessions"
	case i == session.InboundHold:
		return i, "this session asks about every message of others (inbound: hold)"
	case i != "":
		return i, ""
	case s.options.Mode == bypass && (bridged || mode != bypass):
		return session.InboundHold, "this session bypasses permissions"
	case s.options.Mode != bypass && mode == bypass:
		return session.InboundHold, "the other session bypasses permissions and this one does not"
	}
	return session.InboundAccept, ""
}

// Message is a message in the form in which another session posts it.
type Message struct {
	Session string     `json:"session"`        // id of the sender's session
	Dir     string     `json:"dir"`            // directory of the sender's session
	From    string     `json:"from"`           // name of the sending agent
	ID      mailbox.ID `json:"id"`             // posts with the same id are one message
	Mode    string     `json:"mode,omitempty"` // of permissions, of the session
	Summary string     `json:"summary,omitempty"`
	Text    string     `json:"text"`
	// Again asks for the state of a message that the receiver has on disk; it has no text.
	Again bool `json:"again,omitempty"`
}

func (l Message) check() error {
	switch {
	case session.CheckID(l.Session) != nil:
		return errors.New("the message does not name its session")
	case !l.ID.Valid():
		return errors.New("the message has no valid id")
	case strings.TrimSpace(l.Text) == "" && !l.Again:
		return errors.New("the letter is empty")
	case len(l.Text) > maxText:
		return &mailbox.TooLargeError{What: "message", Size: len(l.Text), Limit: maxText}
	}
	return nil
}

// State is the result of a post.
type State string

const (
	Taken   State = "taken"   // the message is on disk
	Waiting State = "held"    // the user is asked; post again for the result
	Busy    State = "busy"    // too many messages; post again later
	Refused State = "refused" // the message is refused for good
)

type Reply struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
	OnDisk bool   `json:"kept,omitempty"` // the receiver has the text, which need not be sent again
	End    End    `json:"end,omitempty"`  // of a message that was held
}

// End is the final state of a message that was held.
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

func unknownMessage(known bool) error {
	if known {
		return nil
	}
	return errUnknownMessage
}

// Receive handles a message of another session; from is the member for that session.
// After an error the message may be posted again.
func (s *Service) Receive(from mailbox.AgentID, in *Message) (Reply, error) {
	if err := in.check(); err != nil {
		return Reply{State: Refused, Reason: err.Error()}, nil
	}
	lead, err := s.options.Lead()
	if err != nil {
		return Reply{}, err
	}
	if got, known := s.quarantine.replyToKnown(from, in.ID); known || in.Again {
		return got, unknownMessage(known)
	}
	rule, why := s.inboundRule(from, in.Mode)
	if rule == session.InboundRefuse {
		return Reply{State: Refused, Reason: why}, nil
	}
	if got := s.limiter.admit(from, *in, countFromSessions(lead), time.Now()); got.State != Taken {
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

// countFromSessions counts the unread messages of other sessions.
func countFromSessions(t *transcript.Transcript) (n int) {
	for _, e := range t.Unread() {
		if _, _, abroad := e.From.Agent.Peer(); abroad {
			n++
		}
	}
	return n
}

// toLead delivers a message to the lead. It returns when the message is on disk.
func toLead(m *roster.Member, summary, text string, id mailbox.ID) error {
	_, err := m.Send(team.Message{
		To: agent.LeadName, Text: text, Summary: summary, Class: mailbox.ClassSteer, Key: string(id),
	})
	return err
}
