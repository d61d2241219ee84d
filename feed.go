package swarm

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

var (
	// ErrEnded is the answer of a Remote whose session has ended.
	ErrEnded = errors.New("the session has ended")
	// ErrOwnerGone is ErrEnded when the session has not been closed: its process is
	// gone, and another one may go on with it.
	ErrOwnerGone = fmt.Errorf("the process that ran the session is gone: %w", ErrEnded)
)

// unread is how many facts may wait to be read by a process that follows a
// session; one that is further behind misses some.
const unread = 1 << 16

// Feed is what happens in a running session, as another process hears it.
type Feed struct {
	r    *Remote
	sub  *nats.Subscription
	msgs chan *nats.Msg
}

// Feed begins to listen: every fact from now on is heard.
func (r *Remote) Feed(ctx context.Context) (*Feed, error) {
	f := &Feed{r: r, msgs: make(chan *nats.Msg, unread)}
	var err error
	if f.sub, err = r.conn.ChanSubscribe(eventSubject(r.info.ID), f.msgs); err != nil {
		return nil, fmt.Errorf("listen to session %s: %w", r.info.ID, err)
	}
	if _, err := r.ask(ctx, "tail", request{}); err != nil {
		return nil, errors.Join(err, f.sub.Unsubscribe())
	}
	return f, nil
}

// Events calls see with each fact of the session, as JSON, until ctx ends, see
// returns an error, or the session ends, which is ErrEnded.
func (r *Remote) Events(ctx context.Context, see func(raw []byte) error) error {
	f, err := r.Feed(ctx)
	if err != nil {
		return err
	}
	return f.Each(ctx, see)
}

// Each calls see with each fact, as JSON, until ctx ends, see returns an error,
// or the session ends, which is ErrEnded, or ErrOwnerGone when nobody closed it.
// It is called once.
func (f *Feed) Each(ctx context.Context, see func(raw []byte) error) error {
	err := f.listen(ctx, see)
	if errors.Is(err, ErrEnded) {
		return err
	}
	leave, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer stop()
	_, gone := f.r.ask(leave, "untail", request{})
	return errors.Join(err, gone)
}

func (f *Feed) listen(ctx context.Context, see func(raw []byte) error) error {
	for {
		var err error
		select {
		case msg := <-f.msgs:
			err = f.hear(msg, see)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.r.gone:
			return f.rest(see)
		}
		if err != nil {
			return err
		}
	}
}

// rest hears what had come before the connection ended: among it may be that
// the session was closed.
func (f *Feed) rest(see func(raw []byte) error) error {
	for {
		select {
		case msg := <-f.msgs:
			if err := f.hear(msg, see); err != nil {
				return err
			}
		default:
			return ErrOwnerGone
		}
	}
}

func (f *Feed) hear(msg *nats.Msg, see func(raw []byte) error) error {
	if msg.Reply == "" {
		return see(msg.Data)
	}
	// The session waits for this before its server closes. That it is closed
	// already takes nothing from the fact.
	err := errors.Join(msg.Respond(nil), f.r.conn.FlushTimeout(endWithin))
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil
	}
	return errors.Join(ErrEnded, err)
}
