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

// A message to another session goes to sw.<receiver>.bridge.<sender> and its answer to
// sw.<sender>.re.<receiver>.<secret>. Who may publish on a subject that ends with
// a session's id is for the server's permissions to say: that, and not the message,
// is what tells who wrote.
func bridgeSubject(to, from string) string { return "sw." + to + ".bridge." + from }
func answerPrefix(to, from string) string  { return "sw." + to + ".re." + from + "." }

// fromAccount begins the subject on which the server takes the answer to what came
// from another account, and which it has made itself.
const fromAccount = "_R_."

// mostAtOnce bounds the messages that are taken at the same time.
const mostAtOnce = 64

// bridge takes messages that come through a server of others.
type bridge struct {
	*rpc.Server
	a *Service
}

// natsMessage is all that is asked there, and so the subject does not name it.
var natsMessage = rpc.Method[rpc.Raw, natsReply]{Class: rpc.Participate}

// Serve takes the messages that come through a server of others, until the service is
// stopped or the returned function is called.
func (s *Service) Serve(conn *nats.Conn) (stop func() error, err error) {
	b := &bridge{a: s}
	b.Server = rpc.NewServer(s.ctx, rpc.ServerOptions{Log: s.o.Logger, AtOnce: mostAtOnce, OneMessage: true, Accept: b.accepts})
	rpc.Handle(b.Server, natsMessage, b.take)
	if err := b.Open(conn, rpc.Subject(bridgeSubject(s.o.Record.Get().ID, "{caller}"))); err != nil {
		return nil, fmt.Errorf("open the session to sessions elsewhere: %w", err)
	}
	// Whoever is told that the session is open finds it open.
	if err := conn.FlushTimeout(postWithin); err != nil {
		return nil, fmt.Errorf("open the session to sessions elsewhere: %w", err)
	}
	return b.Close, nil
}

// natsReply is what became of a message. With an error it may be posted again.
type natsReply struct {
	Reply
	Error string `json:"error,omitempty"`
}

// accepts refuses what wants its answer elsewhere: that would go out with this
// session's rights, to where the sender may not publish.
func (b *bridge) accepts(c rpc.Caller) bool {
	if session.CheckID(c.Name) == nil && (strings.HasPrefix(c.Reply, answerPrefix(c.Name, b.a.o.Record.Get().ID)) || strings.HasPrefix(c.Reply, fromAccount)) {
		return true
	}
	b.a.o.Audit(event.Audit{By: string(mailbox.OfBridge(c.Name)), Subject: c.Subject, Reason: fmt.Sprintf("asked for the answer to go to %.200q", c.Reply)})
	return false
}

// take takes a message. That nothing is in it asks only whether somebody is here.
func (b *bridge) take(_ context.Context, c rpc.Caller, data rpc.Raw) (natsReply, error) {
	if len(data) == 0 {
		return natsReply{}, nil
	}
	from := mailbox.OfBridge(c.Name)
	in, forbidden, err := b.a.parse(c.Name, data)
	if forbidden {
		b.a.o.Audit(event.Audit{By: string(from), Subject: c.Subject, Reason: err.Error()})
	}
	if err != nil {
		return natsReply{Reply: Reply{State: Refused, Reason: err.Error()}}, nil
	}
	r, err := b.a.Receive(from, &in)
	if err != nil {
		return natsReply{Error: err.Error()}, nil
	}
	return natsReply{Reply: r}, nil
}

// parse reads a message, and says whether it holds what nobody writes by mistake.
func (s *Service) parse(from string, data []byte) (in Message, forbidden bool, err error) {
	if err := json.Unmarshal(data, &in); err != nil {
		return in, false, fmt.Errorf("the letter is not valid: %w", err)
	}
	if in.Session != from {
		return in, true, fmt.Errorf("session %s cannot write as session %.64q", from, in.Session)
	}
	if s.o.Forged != nil {
		err = s.o.Forged(in.Text, in.Summary)
	}
	return in, err != nil, err
}

// post posts a message to a session elsewhere.
func (s *Service) post(ctx context.Context, session string, in Message) (Reply, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return Reply{}, err
	}
	out, err := s.askBridge(ctx, session, raw)
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

func (s *Service) askBridge(ctx context.Context, session string, data []byte) (out natsReply, err error) {
	conn, err := s.o.Conn(ctx)
	if err != nil {
		return out, err
	}
	answers, err := conn.SubscribeSync(answerPrefix(s.o.Record.Get().ID, session) + rand.Text())
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, answers.Unsubscribe()) }()
	if err := conn.PublishRequest(bridgeSubject(session, s.o.Record.Get().ID), answers.Subject, data); err != nil {
		return out, err
	}
	m, err := answers.NextMsgWithContext(ctx)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return out, errNobodyThere
	case err != nil:
		return out, fmt.Errorf("post a letter to session %s: %w", session, err)
	}
	if err := json.Unmarshal(m.Data, &out); err != nil {
		return out, fmt.Errorf("read the answer of session %s: %w", session, err)
	}
	return out, nil
}

// How long it takes until a session elsewhere counts as not there, and how often it
// is asked: when the server is started again its sessions come back one by one.
const (
	thereWithin = 3 * time.Second
	thereAgain  = 200 * time.Millisecond
)

// bridgeable says why no message can go to a session elsewhere. One that only does
// not answer may be cut off: the message waits for it.
func (s *Service) bridgeable(to, id string) error {
	switch {
	case !s.o.NATS:
		return &team.UnreachableSessionError{To: to, Why: fmt.Sprintf("sessions elsewhere are reached through a NATS server that both use; the user opens this one with: swarm resume %s --nats URL", s.o.Record.Get().ID)}
	case session.CheckID(id) != nil:
		return &team.UnreachableSessionError{To: to, Why: session.CheckID(id).Error()}
	case !mailbox.OfBridge(id).Valid():
		return &team.UnreachableSessionError{To: to, Why: "the id is too long"}
	case id == s.o.Record.Get().ID:
		return team.ErrSelf
	}
	b, known := s.o.Record.Get().Bridge(id)
	switch {
	case !known:
		return nil // the user is asked first
	case !b.Allowed:
		return &team.UnreachableSessionError{To: to, Why: verdict(b).Reason}
	}
	if s.isNobody(s.ctx, id) {
		return &team.UnreachableSessionError{To: to, Why: fmt.Sprintf("no session of this id has answered at the NATS server for %v, and nothing was sent; once it is open with --nats, write again", thereWithin)}
	}
	return nil
}

// isNobody reports that the server has said for a while that nobody is there of an id.
// Where the server itself does not answer, nothing is known.
func (s *Service) isNobody(ctx context.Context, session string) (nobody bool) {
	ctx, cancel := context.WithTimeout(ctx, thereWithin)
	defer cancel()
	for {
		_, err := s.askBridge(ctx, session, nil)
		if ctx.Err() != nil {
			return nobody
		}
		if nobody = errors.Is(err, errNobodyThere); !nobody {
			return false
		}
		select {
		case <-time.After(thereAgain):
		case <-ctx.Done():
			return true
		}
	}
}
