package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/nats-io/nats.go"
)

// unread is how many facts may wait to be read by a process that follows a
// session; one that is further behind misses some.
const unread = 1 << 16

// Feed is what happens in a running session, as another process receives it.
type Feed struct {
	c    *Client
	msgs chan *nats.Msg
}

// Feed begins to listen: every fact from now on is received.
func (c *Client) Feed(ctx context.Context) (*Feed, error) {
	f := &Feed{c: c, msgs: make(chan *nats.Msg, unread)}
	sub, err := c.conn.ChanSubscribe(EventSubject(c.id), f.msgs)
	if err != nil {
		return nil, fmt.Errorf("listen to session %s: %w", c.id, err)
	}
	if _, err := rpc.Call(ctx, c.Requests, Tail, rpc.None{}); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	return f, nil
}

// Each calls see with each fact, as JSON, until ctx ends, see returns an error,
// or the session ends, which is ErrEnded, or ErrOwnerGone when nobody closed it.
// It is called once.
func (f *Feed) Each(ctx context.Context, see func(raw []byte) error) error {
	err := f.receive(ctx, see)
	if errors.Is(err, ErrEnded) {
		return err
	}
	leave, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer stop()
	_, gone := rpc.Call(leave, f.c.Requests, Untail, rpc.None{})
	return errors.Join(err, gone)
}

func (f *Feed) receive(ctx context.Context, see func(raw []byte) error) error {
	for {
		var err error
		select {
		case msg := <-f.msgs:
			err = f.take(msg, see)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.c.gone:
			return f.rest(see)
		}
		if err != nil {
			return err
		}
	}
}

// rest takes what had come before the connection ended: among it may be that
// the session was closed.
func (f *Feed) rest(see func(raw []byte) error) error {
	for {
		select {
		case msg := <-f.msgs:
			if err := f.take(msg, see); err != nil {
				return err
			}
		default:
			return ErrOwnerGone
		}
	}
}

func (f *Feed) take(msg *nats.Msg, see func(raw []byte) error) error {
	if msg.Reply == "" {
		return see(msg.Data)
	}
	// The session waits for this before its server closes. That it is closed
	// already takes nothing from the fact.
	err := errors.Join(msg.Respond(nil), f.c.conn.FlushTimeout(endWithin))
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil
	}
	return errors.Join(ErrEnded, err)
}
