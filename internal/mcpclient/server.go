package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/tool"
)

// maxStarts is how often a server is started without an answer of one of its tools.
const maxStarts = 2

// refreshPause is between two readings of a list that changes all the time.
const refreshPause = time.Second

// What the library reports of a connection that ends, as if the server had.
const (
	clientClosing = -32003
	serverClosing = -32004
)

// server is one server with its connection, which may change.
type server struct {
	config  Server
	clients *Clients

	mu      sync.Mutex
	pending chan struct{} // closed when the attempt to connect has ended; nil before the first; guarded by mu
	conn    *connection   // guarded by mu
	err     error         // why the last attempt has failed; guarded by mu
	starts  int           // the one of the connection that last answered, and those since; guarded by mu
	tools   []listedTool  // guarded by mu
}

// begin starts the server if it was not started.
func (s *server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.attempt()
	}
}

// attempt connects in a goroutine. s.mu is held.
func (s *server) attempt() {
	pending := make(chan struct{})
	s.pending, s.starts = pending, s.starts+1
	if !s.clients.tasks.begin(func() { s.live(pending) }) {
		s.err = errClosed
		close(pending)
	}
}

// live connects, and follows the connection to its end.
func (s *server) live(pending chan struct{}) {
	conn, tools, err := s.connect()
	if err != nil && s.clients.scope.Err() == nil {
		s.clients.options.Warn(s.failed(err).Error()) // before anybody can see that it has failed
	}
	s.mu.Lock()
	s.conn, s.err = conn, err
	if err == nil {
		s.tools = tools
	}
	close(pending)
	s.mu.Unlock()
	if err == nil {
		s.clients.options.Changed(s.config.Name)
		s.follow(conn)
	}
}

// connect connects to the server and reads its tools.
func (s *server) connect() (*connection, []listedTool, error) {
	c := s.clients
	limit := c.options.StartTimeout
	ctx, cancel := context.WithTimeoutCause(c.scope, limit, &SilentError{"did not answer", limit})
	defer cancel()
	conn, err := connect(ctx, c.scope, s.config, c.options, &c.tasks)
	if err != nil {
		return nil, nil, err
	}
	tools, err := s.list(ctx, conn)
	if err != nil {
		err = conn.reason(err)
		conn.cancel()
		return nil, nil, err
	}
	return conn, tools, nil
}

// list reads the tools and warns of those that are left out.
func (s *server) list(ctx context.Context, conn *connection) ([]listedTool, error) {
	tools, notes, err := listTools(ctx, s.config.Name, conn)
	for _, note := range notes {
		s.clients.options.Warn(fmt.Sprintf("MCP server %s: %s", s.config.Name, note))
	}
	return tools, err
}

// follow reads the list anew when it changes, until the connection ends.
func (s *server) follow(conn *connection) {
	for {
		select {
		case <-conn.closed:
			if s.clients.scope.Err() == nil {
				s.clients.options.Warn(fmt.Sprintf("the MCP server %s has ended: %v; the next call of one of its tools starts it again", s.config.Name, conn.why))
			}
			return
		case <-conn.changed:
			s.refresh(conn)
		}
		pause := time.NewTimer(refreshPause)
		select {
		case <-conn.closed:
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (s *server) refresh(conn *connection) {
	limit := s.clients.options.StartTimeout
	ctx, cancel := context.WithTimeoutCause(s.clients.scope, limit, &SilentError{"did not list its tools", limit})
	defer cancel()
	tools, err := s.list(ctx, conn)
	if err != nil {
		if conn.alive() && s.clients.scope.Err() == nil {
			s.clients.options.Warn(fmt.Sprintf("MCP server %s: its changed list of tools cannot be read, and the old one stays: %v", s.config.Name, conn.reason(err)))
		}
		return
	}
	s.mu.Lock()
	s.tools = tools
	s.mu.Unlock()
	s.clients.options.Changed(s.config.Name)
}

// failed names the server that an error is about.
func (s *server) failed(err error) error {
	return fmt.Errorf("the MCP server %s of %s cannot be used: %w", s.config.Name, s.config.Source, err)
}

// starting returns what is closed when the server has answered or failed; nil if it was
// not started.
func (s *server) starting() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending
}

// connected returns the connection, and starts the server if it is not there. again
// reports that it was started again.
func (s *server) connected(ctx context.Context) (conn *connection, again bool, err error) {
	s.mu.Lock()
	switch {
	case s.clients.scope.Err() != nil:
		err = errClosed
	case s.pending != nil && !isClosed(s.pending), s.conn != nil && s.conn.alive():
	case s.starts >= maxStarts:
		err = s.err
		if s.conn != nil {
			err = s.conn.why
		}
	default:
		again = s.pending != nil
		s.attempt()
	}
	pending := s.pending
	s.mu.Unlock()
	if err != nil {
		return nil, false, s.failed(err)
	}
	select {
	case <-pending:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, again, s.failed(s.err)
	}
	return s.conn, again, nil
}

// call calls a tool by the name that the server has for it. What the model can act on is a
// result.
func (s *server) call(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	o := s.clients.options
	limit := s.config.limit(o.CallTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &SilentError{"did not finish", limit})
	defer cancel()
	conn, again, err := s.connected(ctx)
	var got *mcp.CallToolResult
	if err == nil {
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		params := &mcp.CallToolParams{Name: name, Arguments: input}
		params.SetProgressToken(name)
		got, err = conn.call(ctx, &s.clients.tasks, params, s.idle())
	}
	switch silent := (*SilentError)(nil); {
	case err == nil:
		s.answered()
		return result(got, s.startedAgain(again)), nil
	case ctx.Err() != nil && !errors.As(context.Cause(ctx), &silent):
		return tool.Result{}, context.Cause(ctx)
	}
	return s.failure(ctx, conn, err), nil
}

// failure makes a result of what kept a call from its own.
func (s *server) failure(ctx context.Context, conn *connection, err error) tool.Result {
	var silent *SilentError
	switch wire := (*jsonrpc.Error)(nil); {
	case conn == nil, errors.As(err, &silent):
	case errors.As(err, &wire) && wire.Code != clientClosing && wire.Code != serverClosing:
		s.answered() // the server is well and refuses the call
	default:
		select { // an end that is on its way has a reason
		case <-conn.closed:
			err = conn.why
		case <-time.After(endGrace):
		case <-ctx.Done():
		}
	}
	if conn == nil {
		return tool.Errorf("%s", clean(err.Error(), maxText))
	}
	return tool.Errorf("MCP server %s: %s", s.config.Name, clean(err.Error(), maxText))
}

// startedAgain says so, or is "".
func (s *server) startedAgain(again bool) string {
	if !again {
		return ""
	}
	return fmt.Sprintf("(the MCP server %s had ended and was started again)", s.config.Name)
}

func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts = 1
}

// idle is for how long the server may be silent while a call waits.
func (s *server) idle() time.Duration {
	switch o := s.clients.options; {
	case o.IdleTimeout > 0:
		return o.IdleTimeout
	case o.Getenv(idleVariable) == "0":
		return s.config.limit(o.CallTimeout)
	case s.config.Remote():
		return o.milliseconds(idleVariable, remoteIdleTimeout)
	default:
		return o.milliseconds(idleVariable, idleTimeout)
	}
}

const idleVariable = "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Server: s.config, State: "idle"}
	for _, t := range s.tools {
		st.Tools = append(st.Tools, t.spec.Name)
	}
	switch {
	case s.pending == nil:
	case !isClosed(s.pending):
		st.State = "connecting"
	case s.err != nil:
		st.State, st.Err = "failed", s.err
	case !s.conn.alive():
		st.State, st.Err = "failed", s.conn.why
	default:
		st.State = "connected"
	}
	return st
}
