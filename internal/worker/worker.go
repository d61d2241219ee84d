package worker

import (
	"cmp"
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
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/audit"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/lifecycle"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
	"github.com/nats-io/nats.go"
)

// Options name the agent and the session of a process. The first four are required.
type Options struct {
	Session  string // its id
	StateDir string // where sessions are kept
	Agent    string // id of the agent
	Launch   uint32 // the number of this start of the agent's process, given by the owner
	// PlanRequired makes the agent plan first, even if the owner does not require it.
	PlanRequired bool
	// Home is the user's home directory; "" asks the system.
	Home string
	// Getenv reads the environment; nil is os.Getenv. The owner's settings for models
	// take precedence.
	Getenv func(string) string
	Logger *slog.Logger // nil discards
}

// Worker is a process that runs one agent of a session and the agents that it starts.
// It has a journal of its own below the session's, and reaches the rest of the session
// through the owner's socket. While there is no owner it continues, and its mail waits
// in its outbox.
type Worker struct {
	options Options
	id      mailbox.AgentID
	info    session.Info // of the session
	lock    *executor.Lock
	conn    *nats.Conn
	stack   lifecycle.Stack

	node   *node.Node // nil until the owner has answered
	record *session.File
	rules  *node.Rules
	bus    *bus.Bus
	server *rpc.Server // for requests of the owner; nil until startAgent
	scope  context.Context
	end    context.CancelCauseFunc

	reportNow  chan struct{} // requests a report
	stopReason chan string   // why the worker is to end
	goroutines sync.WaitGroup

	bounded atomic.Bool // requests are reserved with the owner

	mu      sync.Mutex
	charged []string // reservations that are charged and not yet reported; guarded by mu
	known   int      // number of agents of the session in the last report; guarded by mu
	closed  bool     // guarded by mu
}

// RefusedError reports why the owner of a session refuses a worker.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string {
	return "the session's owner refused this process: " + e.Reason
}

// closeTimeout is how long Close waits for turns.
const closeTimeout = 2 * time.Second

// orphanTimeout is how long a worker with nothing to do waits for an owner.
const orphanTimeout = 10 * time.Minute

// Open joins a running session as the process of one of its agents and starts the
// agent. The error is a *RefusedError if another process runs the agent.
func Open(ctx context.Context, o Options) (*Worker, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Worker{options: o, id: mailbox.AgentID(o.Agent), reportNow: make(chan struct{}, 1), stopReason: make(chan string, 1)}
	w.scope, w.end = context.WithCancelCause(ctx)
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Worker) open(ctx context.Context) (err error) {
	if !w.id.Valid() {
		return &session.OptionError{Err: fmt.Errorf("%q cannot be the id of an agent", w.options.Agent)}
	}
	if w.info, err = session.Find(w.options.StateDir, "", w.options.Session); err != nil {
		return err
	}
	dir := archive.Dir(w.info.Path, w.id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return statefile.Error(dir, err)
	}
	if w.lock, err = executor.Acquire(filepath.Join(dir, "lock")); err != nil {
		return err
	}
	if w.conn, err = natsd.DialUnix(w.info.Socket(w.options.StateDir)); err != nil {
		return err
	}
	welcome, err := w.report(ctx)
	if err != nil {
		return err
	}
	if err := w.openNode(ctx, dir, welcome); err != nil {
		return err
	}
	if err := w.startNode(); err != nil {
		return err
	}
	return w.startAgent(welcome)
}

// openNode opens the journal in dir, with the definitions, rules and models of the
// session.
func (w *Worker) openNode(ctx context.Context, dir string, welcome workerapi.ReportOut) error {
	info := w.info
	info.Granted = welcome.Granted
	c, err := w.config(welcome, &info)
	if err != nil {
		return err
	}
	info.Path = dir
	w.bounded.Store(welcome.Bounded)
	parts, err := c.Load(info.Granted, nil)
	if err != nil {
		return err
	}
	if err := info.MakeDirs(); err != nil {
		return err
	}
	w.record, w.rules = session.NewFile(info), parts.Rules
	w.rules.Hold(welcome.Held)
	err = archive.OpenWhenUnlocked(ctx, func() (err error) {
		w.node, err = node.Open(ctx, node.Options{Config: c, Parts: parts, Session: info.ID, Root: w.info.Path, Path: dir, UserPlace: agent.InOwner})
		return err
	})
	if err == nil {
		w.stack.Push("the journal", func(context.Context) error { return w.node.Close() })
	}
	return err
}

// config merges the record of the session, the owner's reply and the environment.
func (w *Worker) config(welcome workerapi.ReportOut, info *session.Info) (c node.Config, err error) {
	c = node.Config{
		Dir: info.Dir, Home: w.options.Home, Logger: w.options.Logger,
		Getenv: func(name string) string { return cmp.Or(welcome.Env[name], w.options.Getenv(name)) },
	}
	if c.StateDir, err = filepath.Abs(w.options.StateDir); err != nil {
		return c, fmt.Errorf("find the state directory: %w", err)
	}
	if err := setProxies(welcome.Env); err != nil {
		return c, err
	}
	if c.Home == "" {
		c.Home, _ = os.UserHomeDir() // without one there are no definitions and settings of the user
	}
	c.Policy.Attended, c.Policy.AskTimeout = welcome.Attended, welcome.AskTimeout
	if err := c.ReadEnvironment(); err != nil {
		return c, err
	}
	c.Inherit(info)
	c.Budget = budget.Limits{} // the owner enforces it, for all processes
	return c, nil
}

// setProxies sets the proxies of the owner's environment in that of this process, where
// clients of models look for them. In a pane one with a password is missing.
func setProxies(env map[string]string) error {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if v := env[name]; v != "" && os.Getenv(name) == "" {
			if err := os.Setenv(name, v); err != nil {
				return fmt.Errorf("set the proxy: %w", err)
			}
		}
	}
	return nil
}

// startNode starts the node, and the bus concurrently.
func (w *Worker) startNode() error {
	w.node.Prepare(w.scope)
	refusals := audit.New(audit.Options{Logger: w.options.Logger, Publish: w.node.PublishAudit}) // the owner keeps the file
	if err := w.record.Save(); err != nil {
		return err
	}
	if err := w.node.Start(w.scope, w.services(refusals), w.end); err != nil {
		return err
	}
	w.node.Roster.ConnectRemote(remoteAgents{w})
	w.node.Roster.ConnectSessions(peerSessions{w})
	w.bus = w.newBus()
	var running sync.WaitGroup
	w.stack.Push("the bus", func(context.Context) error { running.Wait(); return w.bus.Stop() })
	w.stack.Push("the task lists", func(context.Context) error { return w.node.CloseBoards() })
	w.stack.Push("the worker's scope", func(context.Context) error { w.end(turn.ErrShutdown); return nil })
	w.stack.Push("the tools", func(context.Context) error { return w.node.Toolsets.Close() })
	w.stack.Push("the agents", w.node.Shutdown)
	running.Go(w.node.FollowBoards)
	running.Go(func() { refusals.Run(w.scope) })
	running.Go(func() {
		if err := w.bus.Join(w.conn); err != nil && w.scope.Err() == nil {
			w.end(fmt.Errorf("the message bus of session %s did not start: %w", w.info.ID, err))
		}
	})
	return nil
}

// services returns what the node needs of this process.
func (w *Worker) services(refusals *audit.Log) node.Services {
	return node.Services{
		OpenBoard: func(ctx context.Context, list string) (board.Store, error) {
			return node.OpenBoard(ctx, w.bus, w.info.ID, list, w.info.NATS.Replicas)
		},
		Receipt: func(r mailbox.Receipt) bool { return w.bus.Receipt(r) },
		Gone:    func(ctx context.Context, id mailbox.AgentID) error { return w.node.Boards.Release(ctx, id) },
		Audit:   refusals.Note,
		Owner:   w,
	}
}

// newBus returns a bus on the connection to the owner's server.
func (w *Worker) newBus() *bus.Bus {
	info := w.record.Get()
	return bus.New(w.scope, bus.Options{
		Session: info, Store: w.node.Store, NATS: info.NATS, Logger: w.options.Logger,
		Wake:    w.node.Agents.Wake,
		OnError: func(err error) { w.node.Warn(err.Error()) },
	})
}

// startAgent starts the agent and lets the owner reach it.
func (w *Worker) startAgent(welcome workerapi.ReportOut) (err error) {
	if err := w.registerMembers(welcome); err != nil {
		return err
	}
	w.goroutines.Go(w.publish)
	if err := w.serve(); err != nil {
		return err
	}
	if err := w.node.Wake(); err != nil {
		return err
	}
	if t, ok := w.node.Store.Get(w.id); ok {
		return w.node.Agents.Reopen(t.ID(), agent.LeadID) // one that was stopped works again
	}
	spec := *welcome.Spec
	spec.Where = ""
	spec.PlanRequired = spec.PlanRequired || w.options.PlanRequired
	_, err = w.node.Agents.Spawn(w.scope, spec, "")
	return err
}

// Dir returns the directory that the session works in.
func (w *Worker) Dir() string { return w.info.Dir }

// Events returns a subscription to all events of this process from now on.
func (w *Worker) Events() *event.Subscription { return w.node.Events.Subscribe() }

// Interrupt ends the turn that the agent is in.
func (w *Worker) Interrupt() { w.node.Agents.Interrupt(w.id) }

// Run reports to the owner until the agent or the session ends, the owner refuses the
// worker, or ctx ends. The error is nil, a *RefusedError, or the failure that ended the
// worker.
func (w *Worker) Run(ctx context.Context) error {
	tick := time.NewTicker(workerapi.ReportInterval)
	defer tick.Stop()
	lastReply := time.Now()
	for {
		_, err := w.reportAndRegister(ctx)
		var leave *RefusedError
		switch {
		case errors.As(err, &leave):
			return err
		case err == nil:
			lastReply = time.Now()
		case time.Since(lastReply) > orphanTimeout && !w.node.Agents.AtWork():
			return nil
		}
		select {
		case <-tick.C:
		case <-w.reportNow:
		case <-w.stopReason:
			return nil
		case <-w.scope.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(w.scope)
		case <-ctx.Done():
			return nil
		}
	}
}

// Close closes the node and leaves the agent's turn open if one runs. It may be called
// more than once.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	var errs []error
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.scope), closeTimeout)
	defer cancel()
	errs = append(errs, w.stack.Stop(ctx))
	w.end(turn.ErrShutdown)
	if w.server != nil {
		errs = append(errs, w.server.Close())
	}
	w.goroutines.Wait()
	if w.conn != nil {
		w.conn.Close()
	}
	if w.lock != nil {
		errs = append(errs, w.lock.Release())
		w.lock = nil
	}
	return errors.Join(errs...)
}
