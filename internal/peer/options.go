package peer

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
)

// Options are what mail to and from other sessions needs of this one. All but the
// settings below Audit are required.
type Options struct {
	Record   Record // of this session
	StateDir string // in which the sessions of this machine are kept
	Store    *transcript.Store
	Agents   Agents
	Members  Members
	// Lead returns who reads what other sessions write.
	Lead func() (*transcript.Transcript, error)
	// Post posts a message through the socket of a session of this machine.
	Post func(ctx context.Context, session string, m Message) (Reply, error)
	// Conn waits for the connection to the server of others, where there is one.
	Conn func(context.Context) (*nats.Conn, error)
	// Forged says what in a text only the runtime may write; nil is nothing.
	Forged func(text, summary string) error
	// Warn tells the user something; Audit records what was refused.
	Warn  func(text string)
	Audit func(event.Audit)

	NATS          bool            // sessions elsewhere are reached, through a server of others
	Mode          string          // of permissions, of this session
	Inbound       session.Inbound // what becomes of messages of others
	InboundExpiry time.Duration   // how long one waits for the user; 0 is 5 minutes, negative for ever
	Logger        *slog.Logger
}

// Record is the record of a session; *session.File is one.
type Record interface {
	Get() session.Info
	Update(func(*session.Info) error) error
}

// Agents put questions of members to the user.
type Agents interface {
	AskUser(id mailbox.AgentID, choices []event.Choice, settle func(answer string, s event.Resolution) error) (*coordinator.UserQuestion, error)
	PoseQuestion(id mailbox.AgentID, q event.Question, settle func(event.Resolution) error) (*coordinator.UserQuestion, error)
}

// Members make the members of this session that stand for others.
type Members interface {
	StandIn(id mailbox.AgentID) (*roster.Member, error)
}
