package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/session"
	"github.com/nats-io/nats.go"
)

var (
	// ErrEnded is the answer of a client whose session has ended.
	ErrEnded = errors.New("the session has ended")
	// ErrOwnerGone is ErrEnded when the session has not been closed: its process is
	// gone, and another one may go on with it.
	ErrOwnerGone = fmt.Errorf("the process that ran the session is gone: %w", ErrEnded)
)

// Client is a connection to the process that runs a session.
type Client struct {
	Requests *rpc.Client // takes the requests of this package and of package member
	id       string      // of the session
	conn     *nats.Conn
	gone     chan struct{} // closed when the connection has ended
}

// Dial connects to the process that runs a session. The error is a
// *session.NotRunningError if there is none. The caller closes the client.
func Dial(stateDir string, info session.Info) (*Client, error) {
	c := &Client{id: info.ID, gone: make(chan struct{})}
	refusals := new(rpc.Refusals)
	var err error
	// Who runs the session next is another process, with which nothing has been
	// agreed: the connection does not come back by itself.
	c.conn, err = natsd.DialUnix(info.Socket(stateDir), nats.NoReconnect(),
		nats.ErrorHandler(refusals.Report), nats.ClosedHandler(func(*nats.Conn) { close(c.gone) }))
	if err != nil {
		return nil, errors.Join(&session.NotRunningError{ID: info.ID}, err)
	}
	c.Requests = rpc.NewClient(c.conn, Subject(info.ID), rpc.ClientOptions{Errors: Errors(), Refusals: refusals, Failed: c.failed})
	return c, nil
}

// failed is the error for a request that the session has not answered.
func (c *Client) failed(method string, err error) error {
	if errors.Is(err, rpc.ErrNotPermitted) {
		return &session.CommandError{Verb: method}
	}
	return fmt.Errorf("ask session %s to %s: %w", c.id, method, err)
}

// Close ends the connection.
func (c *Client) Close() { c.conn.Close() }

// Quit asks the owner of the session to end it and returns when it answers no more.
func (c *Client) Quit(ctx context.Context) error {
	// It may be gone before its answer is.
	if _, err := rpc.Call(ctx, c.Requests, Quit, rpc.None{}); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return err
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("session %s does not end: %w", c.id, context.Cause(ctx))
	}
}

var errNoVerdict = errors.New("the session did not answer what became of the message")

// PostTo posts a message through the socket of a session of this machine.
func PostTo(ctx context.Context, stateDir, id string, m peer.Message) (peer.Reply, error) {
	c, err := Dial(stateDir, session.Info{ID: id})
	if err != nil {
		return peer.Reply{}, err
	}
	defer c.Close()
	out, err := rpc.Call(ctx, c.Requests, Post, PostIn{&m})
	if err != nil || out.Reply == nil {
		return peer.Reply{}, errors.Join(err, errNoVerdict)
	}
	return *out.Reply, nil
}
