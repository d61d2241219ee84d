package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/internal/term"
)

// connection is one connection to a server, from its start to its end.
type connection struct {
	session *mcp.ClientSession
	process *process      // nil if the server is reached by HTTP
	changed chan struct{} // the list of tools has changed
	closed  chan struct{} // the connection is no more
	why     error         // set before closed is closed
	cancel  context.CancelFunc

	mu    sync.Mutex
	calls map[*time.Timer]time.Duration // of calls that end when nothing is heard; guarded by mu
}

// connect starts a server, or reaches it, and makes itself known. The connection lives
// until scope ends; ctx bounds the start.
func connect(ctx, scope context.Context, s Server, o Options, tasks *tasks) (*connection, error) {
	c := &connection{changed: make(chan struct{}, 1), closed: make(chan struct{}), calls: map[*time.Timer]time.Duration{}}
	scope, c.cancel = context.WithCancel(scope)
	transport := s.transport(scope)
	if !s.Remote() {
		p, err := startProcess(s, o)
		if err != nil {
			c.cancel()
			return nil, err
		}
		c.process, transport = p, p.transport()
		tasks.nested(p.wait)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "swarm", Version: o.Version}, c.options())
	for _, dir := range append([]string{o.Dir}, o.Roots...) {
		//lint:ignore SA1019 servers that follow older revisions ask for the roots
		client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: dir}).String()})
	}
	session, err := connectWithin(ctx, tasks, func() (*mcp.ClientSession, error) { return client.Connect(scope, transport, nil) })
	if err != nil {
		c.end()
		return nil, c.reason(err)
	}
	c.session = session
	tasks.nested(func() { c.watch(scope, tasks) })
	return c, nil
}

// connectWithin connects and does not wait beyond ctx.
func connectWithin(ctx context.Context, tasks *tasks, connect func() (*mcp.ClientSession, error)) (*mcp.ClientSession, error) {
	type result struct {
		session *mcp.ClientSession
		err     error
	}
	done := make(chan result, 1)
	tasks.nested(func() {
		session, err := connect()
		if err == nil && ctx.Err() != nil {
			session, err = nil, errors.Join(context.Cause(ctx), session.Close())
		}
		done <- result{session, err}
	})
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			r.err = context.Cause(ctx)
		}
		return r.session, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *connection) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		//lint:ignore SA1019 servers that follow older revisions ask for the roots
		Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default: // it will be read anew anyhow
			}
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { c.heard() },
	}
}

// watch waits for the end of the connection and gives back what it took.
func (c *connection) watch(scope context.Context, tasks *tasks) {
	lost := make(chan error, 1)
	tasks.nested(func() { lost <- c.session.Wait() }) // ends with the session, at the latest below
	var err error
	select {
	case err = <-lost:
	case <-scope.Done():
	}
	c.end()
	c.why = c.reason(err)
	close(c.closed)
}

// end ends the server, or the connection to it.
func (c *connection) end() {
	if c.process != nil {
		c.process.end()
		c.cancel()
		if c.session != nil {
			c.session.Close() // what it was connected to is gone
		}
		return
	}
	if c.session != nil {
		timer := time.AfterFunc(endGrace, c.cancel) // a server need not answer the good-bye
		c.session.Close()
		timer.Stop()
	}
	c.cancel()
}

// reason makes an error say what a person can use.
func (c *connection) reason(err error) error {
	if c.process != nil {
		if why := c.process.stdout.reason(); why != nil {
			return why
		}
		if how := c.process.how(); how != "" && !errors.As(err, new(*SilentError)) {
			return errors.New(how)
		}
	}
	if err == nil {
		return errors.New("the connection has ended")
	}
	if errors.As(err, new(*SilentError)) {
		return err
	}
	return errors.New(term.Cut(term.Clean(err.Error()), 500))
}

// alive reports whether the connection has not ended.
func (c *connection) alive() bool {
	select {
	case <-c.closed:
		return false
	default:
		return true
	}
}

// call calls a tool. It returns with ctx, whatever the server does.
func (c *connection) call(ctx context.Context, tasks *tasks, params *mcp.CallToolParams, idle time.Duration) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.expect(idle, func() { cancel(&SilentError{"did not answer", idle}) })()
	type result struct {
		result *mcp.CallToolResult
		err    error
	}
	done := make(chan result, 1)
	if !tasks.begin(func() {
		r, err := c.session.CallTool(ctx, params)
		done <- result{r, err}
	}) {
		return nil, errClosed
	}
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			r.err = context.Cause(ctx)
		}
		return r.result, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// expect calls silent when nothing is heard for a while. The function that it returns ends
// that.
func (c *connection) expect(idle time.Duration, silent func()) (stop func()) {
	timer := time.AfterFunc(idle, silent)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[timer] = idle
	return func() {
		timer.Stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, timer)
	}
}

// heard puts off the end of the calls that wait.
func (c *connection) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for timer, idle := range c.calls {
		if timer.Stop() {
			timer.Reset(idle)
		}
	}
}

// SilentError reports a server that did not do something in time.
type SilentError struct {
	What string
	Time time.Duration
}

func (e *SilentError) Error() string { return fmt.Sprintf("it %s within %v", e.What, e.Time) }
