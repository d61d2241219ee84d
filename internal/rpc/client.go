package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// Client sends requests to a server. It may be used from any goroutine.
type Client struct {
	conn    *nats.Conn
	subject Subject
	o       ClientOptions
}

// ClientOptions configure a Client. The zero value works.
type ClientOptions struct {
	Errors Errors // of the server
	// Refusals receives errors from the connection's nats.ErrorHandler. Without it a
	// request that the NATS server refuses waits until its context ends.
	Refusals *Refusals
	// Failed returns the error for a request without a reply; nil names the method.
	Failed func(method string, err error) error
}

// NewClient returns a client of the server at subject, which names the caller if the server
// distinguishes callers.
func NewClient(conn *nats.Conn, subject Subject, o ClientOptions) *Client {
	if o.Failed == nil {
		o.Failed = func(method string, err error) error { return fmt.Errorf("ask to %s: %w", method, err) }
	}
	return &Client{conn: conn, subject: subject, o: o}
}

// Call sends a request and waits for its reply until ctx ends. The error is the handler's,
// or that of ClientOptions.Failed if there is no reply. Call returns the output of a
// handler that failed together with its error.
func Call[In, Out any](ctx context.Context, c *Client, m Method[In, Out], in In) (out Out, err error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("encode the request %s: %w", m.Name, err)
	}
	raw, err = c.ask(ctx, c.subject.To(m.Name), raw)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return out, c.o.Failed(m.Name, err)
	}
	return out, c.o.Errors.decode(raw)
}

// Send sends a request and does not wait for a reply.
func Send[In any](c *Client, m Method[In, None], in In) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the message %s: %w", m.Name, err)
	}
	return c.conn.Publish(c.subject.To(m.Name), raw)
}

func (c *Client) ask(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if c.o.Refusals == nil {
		return ask(ctx, c.conn, subject, data)
	}
	ctx, done := c.o.Refusals.await(ctx, subject)
	defer done()
	raw, err := ask(ctx, c.conn, subject, data)
	if err != nil && errors.Is(context.Cause(ctx), ErrNotPermitted) {
		err = ErrNotPermitted
	}
	return raw, err
}

// Refusals ends requests that the NATS server refuses, which it reports apart from the
// request. The zero value is ready to use.
type Refusals struct {
	mu    sync.Mutex
	waits map[*pendingRequest]struct{} // guarded by mu
}

// pendingRequest is a request without a reply.
type pendingRequest struct {
	subject string
	end     context.CancelCauseFunc
}

// Report is the nats.ErrorHandler of the connection.
func (r *Refusals) Report(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.waits {
		if strings.Contains(err.Error(), strconv.Quote(w.subject)) {
			w.end(ErrNotPermitted)
		}
	}
}

// await returns a context that ends when the NATS server refuses a subject.
func (r *Refusals) await(ctx context.Context, subject string) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	w := &pendingRequest{subject, end}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits == nil {
		r.waits = map[*pendingRequest]struct{}{}
	}
	r.waits[w] = struct{}{}
	return ctx, func() {
		end(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waits, w)
	}
}
