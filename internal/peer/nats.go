package peer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
)

// A message to another session is published on sw.<receiver>.bridge.<sender>, and its
// reply on sw.<sender>.re.<receiver>.<secret>. The server's permissions decide who may
// publish on a subject that ends with a session's id: the subject, and not the message,
// authenticates the sender.
func bridgeSubject(to, from string) string { return "sw." + to + ".bridge." + from }
func answerPrefix(to, from string) string  { return "sw." + to + ".re." + from + "." }

// fromAccount is the prefix of reply subjects that the server creates for requests from
// another account.
const fromAccount = "_R_."

// maxConcurrent bounds the messages that are handled concurrently.
const maxConcurrent = 64

// bridge receives messages through an external NATS server.
type bridge struct {
	*rpc.Server
	service *Service
}

// natsMessage is the only method, so its name is not part of the subject.
var natsMessage = rpc.Method[rpc.Raw, natsReply]{Class: rpc.Participate}

// Serve receives messages through an external NATS server until the service is stopped
// or the returned function is called.
func (s *Service) Serve(conn *nats.Conn) (stop func() error, err error) {
	b := &bridge{service: s}
	b.Server = rpc.NewServer(s.ctx, rpc.ServerOptions{Log: s.options.Logger, MaxConcurrent: maxConcurrent, OneMessage: true, Accept: b.accepts})
	rpc.Handle(b.Server, natsMessage, b.receive)
	if err := b.Open(conn, rpc.Subject(bridgeSubject(s.options.Record.Get().ID, "{caller}"))); err != nil {
		return nil, fmt.Errorf("open the session to sessions elsewhere: %w", err)
	}
	// When Serve returns, the server knows of the subscription.
	if err := conn.FlushTimeout(postTimeout); err != nil {
		return nil, fmt.Errorf("open the session to sessions elsewhere: %w", err)
	}
	return b.Close, nil
}

// natsReply is the reply to a message. After an error it may be posted again.
type natsReply struct {
	Reply
	Error string `json:"error,omitempty"`
}

// accepts rejects a request whose reply subject is not the sender's: the reply would be
// published with this session's permissions where the sender has none.
func (b *bridge) accepts(c rpc.Caller) bool {
	if session.CheckID(c.Name) == nil && (strings.HasPrefix(c.Reply, answerPrefix(c.Name, b.service.options.Record.Get().ID)) || strings.HasPrefix(c.Reply, fromAccount)) {
		return true
	}
	b.service.options.Audit(event.Audit{By: string(mailbox.BridgeID(c.Name)), Subject: c.Subject, Reason: fmt.Sprintf("asked for the answer to go to %.200q", c.Reply)})
	return false
}

// receive handles a message. An empty one only asks whether the session is there.
func (b *bridge) receive(_ context.Context, c rpc.Caller, data rpc.Raw) (natsReply, error) {
	if len(data) == 0 {
		return natsReply{}, nil
	}
	from := mailbox.BridgeID(c.Name)
	in, forbidden, err := b.service.parse(c.Name, data)
	if forbidden {
		b.service.options.Audit(event.Audit{By: string(from), Subject: c.Subject, Reason: err.Error()})
	}
	if err != nil {
		return natsReply{Reply: Reply{State: Refused, Reason: err.Error()}}, nil
	}
	r, err := b.service.Receive(from, &in)
	if err != nil {
		return natsReply{Error: err.Error()}, nil
	}
	return natsReply{Reply: r}, nil
}

// parse parses a message. forbidden reports content that cannot be a mistake.
func (s *Service) parse(from string, data []byte) (in Message, forbidden bool, err error) {
	if err := json.Unmarshal(data, &in); err != nil {
		return in, false, fmt.Errorf("the letter is not valid: %w", err)
	}
	if in.Session != from {
		return in, true, fmt.Errorf("session %s cannot write as session %.64q", from, in.Session)
	}
	if s.options.Forged != nil {
		err = s.options.Forged(in.Text, in.Summary)
	}
	return in, err != nil, err
}

// post posts a message to a session elsewhere.
func (s *Service) post(ctx context.Context, session string, in Message) (Reply, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return Reply{}, err
	}
	out, err := s.callBridge(ctx, session, raw)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return Reply{State: Refused, Reason: fmt.Sprintf("the message has %d bytes, which is more than the NATS server takes; write it to a file and send the path", len(raw))}, nil
	case err != nil:
		return Reply{}, err
	case out.Error != "":
		return Reply{}, errors.New(out.Error)
	}
	return out.Reply, nil
}

func (s *Service) callBridge(ctx context.Context, session string, data []byte) (out natsReply, err error) {
	conn, err := s.options.Conn(ctx)
	if err != nil {
		return out, err
	}
	answers, err := conn.SubscribeSync(answerPrefix(s.options.Record.Get().ID, session) + rand.Text())
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, answers.Unsubscribe()) }()
	if err := conn.PublishRequest(bridgeSubject(session, s.options.Record.Get().ID), answers.Subject, data); err != nil {
		return out, err
	}
	m, err := answers.NextMsgWithContext(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return out, errSessionAbsent
	case err != nil:
		return out, fmt.Errorf("post a message to session %s: %w", session, err)
	}
	if err := json.Unmarshal(m.Data, &out); err != nil {
		return out, fmt.Errorf("read the reply of session %s: %w", session, err)
	}
	return out, nil
}

// A session elsewhere counts as absent if it has not answered for presenceTimeout. It is
// asked repeatedly, because after a restart of the server its sessions reconnect one by one.
const (
	presenceTimeout  = 3 * time.Second
	presenceInterval = 200 * time.Millisecond
)

// checkBridge returns why no message can be sent to a session elsewhere. One that only
// does not answer may be disconnected: messages wait for it.
func (s *Service) checkBridge(to, id string) error {
	switch {
	case !s.options.NATS:
		return &team.UnreachableSessionError{To: to, Why: fmt.Sprintf("sessions elsewhere are reached through a NATS server that both use; the user opens this one with: swarm resume %s --nats URL", s.options.Record.Get().ID)}
	case session.CheckID(id) != nil:
		return &team.UnreachableSessionError{To: to, Why: session.CheckID(id).Error()}
	case !mailbox.BridgeID(id).Valid():
		return &team.UnreachableSessionError{To: to, Why: "the id is too long"}
	case id == s.options.Record.Get().ID:
		return team.ErrSelf
	}
	b, known := s.options.Record.Get().Bridge(id)
	switch {
	case !known:
		return nil // the user is asked first
	case !b.Allowed:
		return &team.UnreachableSessionError{To: to, Why: replyForBridge(b).Reason}
	}
	if s.isAbsent(s.ctx, id) {
		return &team.UnreachableSessionError{To: to, Why: fmt.Sprintf("no session of this id has answered at the NATS server for %v, and nothing was sent; once it is open with --nats, write again", presenceTimeout)}
	}
	return nil
}

// isAbsent reports that the server has found no session of an id for a while. If the
// server itself does not answer, the result is false.
func (s *Service) isAbsent(ctx context.Context, session string) (nobody bool) {
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	for {
		_, err := s.callBridge(ctx, session, nil)
		if ctx.Err() != nil {
			return nobody
		}
		if nobody = errors.Is(err, errSessionAbsent); !nobody {
			return false
		}
		select {
		case <-time.After(presenceInterval):
		case <-ctx.Done():
			return true
		}
	}
}
