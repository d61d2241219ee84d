package swarm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/nats-io/nats.go"
)

// NodeOptions say which agent of which session a process runs. The first four
// are required.
type NodeOptions struct {
	Session  string // its id
	StateDir string // where sessions are kept
	Agent    string // id of the agent
	Launch   uint32 // which start of the agent's process this is; the owner counts
	// PlanRequired makes the agent plan first, also where the session's owner does
	// not ask for it.
	PlanRequired bool
	// Home is the user's home directory; "" asks the system.
	Home string
	// Getenv reads the environment; nil is os.Getenv. What the session's owner
	// knows of models goes before it.
	Getenv func(string) string
	Logger *slog.Logger // nil discards
}

// Node is a process that runs one agent of a session, and what that agent
// starts. It has a journal of its own below the session's and reaches the rest
// through the socket of the process that owns the session. The owner may go and
// come back: the node goes on meanwhile, and its mail waits in its outbox.
type Node struct {
	o       NodeOptions
	id      mailbox.AgentID
	info    Info // of the session
	lock    *executor.Lock
	conn    *nats.Conn
	session *Session
	server  *rpc.Server // that the owner asks; nil until it is opened

	dirty chan struct{} // something is to be reported
	leave chan string   // why the node is to end
	work  sync.WaitGroup

	bounded atomic.Bool // requests are reserved with the owner

	mu     sync.Mutex
	landed []string // requests that are charged and not yet reported; guarded by mu
	known  int      // agents of the session at the last report; guarded by mu
	closed bool     // guarded by mu
}

// LeaveError reports why the owner of a session does not want a node.
type LeaveError struct{ Why string }

func (e *LeaveError) Error() string { return "the session's owner turned this process away: " + e.Why }

// orphanedAfter is how long a node that has nothing to do waits for an owner.
const orphanedAfter = 10 * time.Minute

// OpenNode joins a running session as the process of one of its agents. The
// agent works when it returns. The error is a *LeaveError when another process
// runs the agent.
func OpenNode(ctx context.Context, o NodeOptions) (*Node, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	n := &Node{o: o, id: mailbox.AgentID(o.Agent), dirty: make(chan struct{}, 1), leave: make(chan string, 1)}
	if err := n.open(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) open(ctx context.Context) (err error) {
	if !n.id.Valid() {
		return &OptionError{Err: fmt.Errorf("%q cannot be the id of an agent", n.o.Agent)}
	}
	if n.info, err = FindSession(n.o.StateDir, "", n.o.Session); err != nil {
		return err
	}
	dir := archive.Dir(n.info.Path, n.id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return statefile.Error(dir, err)
	}
	if n.lock, err = executor.Acquire(filepath.Join(dir, "lock")); err != nil {
		return err
	}
	if n.conn, err = natsd.DialUnix(n.info.Socket(n.o.StateDir)); err != nil {
		return err
	}
	welcome, err := n.report(ctx)
	if err != nil {
		return err
	}
	if err := n.host(ctx, dir, welcome); err != nil {
		return err
	}
	return n.begin(welcome)
}

// host opens the node's own session: the same definitions, rules and models, and
// a journal in dir.
func (n *Node) host(ctx context.Context, dir string, w workerapi.Welcome) error {
	info := n.info
	info.Granted = w.Granted
	o := Options{
		Dir: info.Dir, StateDir: n.o.StateDir, Home: n.o.Home, Logger: n.o.Logger,
		Attended: w.Attended, AskTimeout: w.AskTimeout, node: n,
		Getenv: func(name string) string { return first(w.Env[name], n.o.Getenv(name)) },
	}
	if err := o.settle(); err != nil {
		return err
	}
	o.inherit(&info)
	o.Listen, o.ListenWebSocket = "", "" // the owner does
	o.Budget = budget.Limits{}           // the owner keeps it, for all processes
	n.bounded.Store(w.Bounded)
	info.Path = dir
	s := &Session{opts: o, record: session.NewFile(info)}
	if err := s.read(); err != nil {
		return err
	}
	if err := info.MakeDirs(); err != nil {
		return err
	}
	if err := s.openNode(ctx); err != nil {
		return err
	}
	n.session = s
	return s.start(ctx)
}

// begin brings the agent to life, and lets the owner reach it.
func (n *Node) begin(w workerapi.Welcome) (err error) {
	if err := n.meet(w); err != nil {
		return err
	}
	n.work.Go(n.tell)
	if err := n.serve(); err != nil {
		return err
	}
	if err := n.session.Wake(); err != nil {
		return err
	}
	if t, ok := n.session.store.Get(n.id); ok {
		return n.session.agents.Reopen(t.ID(), agent.LeadID) // one that was stopped works again
	}
	spec := *w.Spec
	spec.Where = ""
	spec.PlanRequired = spec.PlanRequired || n.o.PlanRequired
	_, err = n.session.agents.Spawn(n.session.scope, spec, "")
	return err
}

// Session is the node's view of its session: its events and agents.
func (n *Node) Session() *Session { return n.session }

// Interrupt ends the turn that the agent is in.
func (n *Node) Interrupt() { n.session.agents.Interrupt(n.id) }

// Run reports to the owner until the agent or the session ends, the owner wants
// the node no longer, or ctx ends. It returns nil but for a *LeaveError or what
// broke the node.
func (n *Node) Run(ctx context.Context) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	heard := time.Now()
	for {
		_, err := n.reportKnown(ctx)
		var leave *LeaveError
		switch {
		case errors.As(err, &leave):
			return err
		case err == nil:
			heard = time.Now()
		case time.Since(heard) > orphanedAfter && !n.session.agents.AtWork():
			return nil
		}
		select {
		case <-tick.C:
		case <-n.dirty:
		case <-n.leave:
			return nil
		case <-n.session.scope.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(n.session.scope)
		case <-ctx.Done():
			return nil
		}
	}
}

// Close leaves the agent's turn open if one runs, and ends everything. It may be
// called more than once.
func (n *Node) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	var errs []error
	if n.session != nil {
		errs = append(errs, n.session.Close())
	}
	if n.server != nil {
		errs = append(errs, n.server.Close())
	}
	n.work.Wait()
	if n.conn != nil {
		n.conn.Close()
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Release())
		n.lock = nil
	}
	return errors.Join(errs...)
}
