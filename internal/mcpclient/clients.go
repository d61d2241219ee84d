package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// Options configure New. Servers, Dir, Place and Getenv are required.
type Options struct {
	Servers []Server
	Dir     string        // where programs start, and the first root that servers are told of
	Roots   []string      // further ones
	Env     []string      // variables of programs besides those of all children
	Place   sandbox.Place // what programs do not see
	Getenv  func(string) string
	Version string // of swarm

	// Warn reports in one line what a person should know of a server; nil drops it.
	Warn func(text string)
	// Changed is called when a server has other tools than before; nil drops it.
	Changed func(server string)

	// StartTimeout is for how long a server may take to start, CallTimeout for how long a
	// call may take and IdleTimeout for how long a server may be silent meanwhile. 0 takes
	// them from the environment: MCP_TIMEOUT, MCP_TOOL_TIMEOUT and
	// CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT, in milliseconds.
	StartTimeout, CallTimeout, IdleTimeout time.Duration
}

const (
	startTimeout      = 30 * time.Second
	callTimeout       = 100_000 * time.Second // about 28 hours
	idleTimeout       = 30 * time.Minute
	remoteIdleTimeout = 5 * time.Minute
)

// milliseconds returns the value of a variable, or otherwise.
func (o Options) milliseconds(name string, otherwise time.Duration) time.Duration {
	n, err := strconv.ParseInt(o.Getenv(name), 10, 64)
	if err != nil || n <= 0 {
		return otherwise
	}
	return time.Duration(n) * time.Millisecond
}

// Clients are the connections of one process to servers. Its methods may be called from
// any goroutine.
type Clients struct {
	options Options
	servers []*server
	tasks   tasks
	cancel  context.CancelFunc
	scope   context.Context
}

// tasks are the goroutines of the clients.
type tasks struct {
	mu     sync.Mutex
	closed bool // guarded by mu
	all    sync.WaitGroup
}

// begin runs f in a goroutine, unless everything is ending.
func (t *tasks) begin(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.all.Go(f)
	}
	return !t.closed
}

// nested runs f in a goroutine. It is called in one that runs.
func (t *tasks) nested(f func()) { t.all.Go(f) }

// end waits for all goroutines.
func (t *tasks) end() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.all.Wait()
}

// New returns the clients of servers, which end with scope or with Close. No server is
// started before Start, or before one of its tools is called.
func New(scope context.Context, o Options) *Clients {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, o.milliseconds("MCP_TIMEOUT", startTimeout))
	o.CallTimeout = cmp.Or(o.CallTimeout, o.milliseconds("MCP_TOOL_TIMEOUT", callTimeout))
	c := &Clients{options: o}
	c.scope, c.cancel = context.WithCancel(scope)
	for _, s := range o.Servers {
		c.servers = append(c.servers, &server{config: s, clients: c})
	}
	return c
}

// Start starts all servers side by side and does not wait for them.
func (c *Clients) Start() {
	for _, s := range c.servers {
		s.begin()
	}
}

// StartFor starts the servers of tools, and waits for these as Await does for all.
func (c *Clients) StartFor(ctx context.Context, tools []string, limit time.Duration) (late []string) {
	var servers []*server
	for _, s := range c.servers {
		if slices.ContainsFunc(tools, func(name string) bool { return strings.HasPrefix(name, ToolPrefix(s.config.Name)) }) {
			s.begin()
			servers = append(servers, s)
		}
	}
	return await(ctx, servers, limit)
}

// Await waits until the servers that were started have answered or failed, for a time at
// most. It returns the names of those that have done neither.
func (c *Clients) Await(ctx context.Context, limit time.Duration) (late []string) {
	return await(ctx, c.servers, limit)
}

func await(ctx context.Context, servers []*server, limit time.Duration) (late []string) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for i, s := range servers {
		pending := s.starting()
		if pending == nil {
			continue
		}
		select {
		case <-pending:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		for _, s := range servers[i:] {
			if pending := s.starting(); pending != nil && !isClosed(pending) {
				late = append(late, s.config.Name)
			}
		}
		return late
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Close ends all servers and waits for the end of what they have started.
func (c *Clients) Close() {
	c.cancel()
	c.tasks.end()
}

// Status is how a server is.
type Status struct {
	Server
	State string // idle, connecting, connected or failed
	Err   error  // why it has failed
	Tools []string
}

// Status returns how the servers are, in the order of their names.
func (c *Clients) Status() (all []Status) {
	for _, s := range c.servers {
		all = append(all, s.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// UnknownError reports a call to a server that the session does not have.
type UnknownError struct{ Server string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("this session has no MCP server %q", e.Server)
}

// find returns a server by its name, or by its name as tools have it.
func (c *Clients) find(name string) (*server, error) {
	for _, s := range c.servers {
		if s.config.Name == name {
			return s, nil
		}
	}
	return nil, &UnknownError{name}
}

// errClosed is why a server is not started any more.
var errClosed = errors.New("the session is ending")
