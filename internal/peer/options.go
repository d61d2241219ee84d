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

// Options configure New. All but the fields below Audit are required.
type Options struct {
	Record   Record // of this session
	StateDir string // directory of the sessions of this machine
	Store    *transcript.Store
	Agents   Agents
	Members  Members
	// Lead returns the agent that reads messages of other sessions.
	Lead func() (*transcript.Transcript, error)
	// Post posts a message through the socket of a session of this machine.
	Post func(ctx context.Context, session string, m Message) (Reply, error)
	// Conn waits for the connection to an external NATS server.
	Conn func(context.Context) (*nats.Conn, error)
	// Forged returns an error for text that only the runtime may write. It may be nil.
	Forged func(text, summary string) error
	// Warn shows a warning to the user; Audit records a refusal.
	Warn  func(text string)
	Audit func(event.Audit)

	NATS          bool            // sessions elsewhere are reachable through an external server
	Mode          string          // of permissions, of this session
	Inbound       session.Inbound // how messages of others are handled
	InboundExpiry time.Duration   // how long a held message waits; 0 is 5 minutes, negative for ever
	Logger        *slog.Logger
}

// Record is the record of a session; *session.File is one.
type Record interface {
	Get() session.Info
	Update(func(*session.Info) error) error
}

// Agents asks the user questions of members.
type Agents interface {
	AskUser(id mailbox.AgentID, choices []event.Choice, resolve func(answer string, s event.Resolution) error) (*coordinator.UserQuestion, error)
	PoseQuestion(id mailbox.AgentID, q event.Question, resolve func(event.Resolution) error) (*coordinator.UserQuestion, error)
}

// Members returns the members for other sessions.
type Members interface {
	Proxy(id mailbox.AgentID) (*roster.Member, error)
}
