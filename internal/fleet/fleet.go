package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Time limits for the processes of agents.
const (
	firstReportTimeout = time.Minute      // from the start of a process to its first report
	joinTimeout        = 10 * time.Second // for a process of an earlier owner to report
	stopTimeout        = 2 * time.Second  // for a process or an agent to end
)

// lostAfter is how long a process may not report before it counts as lost.
const lostAfter = 15 * time.Second

// Options configure New.
type Options struct {
	Record   *session.File
	StateDir string // of the user
	Team     string // id of the session's team
	Store    *transcript.Store
	Events   *event.Bus
	Logger   *slog.Logger

	Where       agent.Place       // where new agents run
	Command     []string          // beginning of a process's command line; empty means this program's
	Executor    executor.Executor // starts processes; nil is chosen by Where
	FirstReport time.Duration     // limit for the first report of a process; 0 is a minute
	Silence     time.Duration     // time without a report after which a process counts as lost; 0 is 15 s

	Attended   bool          // a person answers questions
	AskTimeout time.Duration // time after which a question counts as refused; 0 is never

	Held    func() settings.Held     // returns the rules that are in force although they were removed
	Audit   func(event.Audit)        // records a refusal
	Getenv  func(name string) string // reads the environment of the session
	Receipt func(r mailbox.Receipt)  // sends a receipt, now or when that is possible
	Prices  *price.Table             // of models
}

// Parts are the parts of a session that are created after the fleet.
type Parts struct {
	Agents   *coordinator.Coordinator
	Roster   *roster.Roster
	Bus      *bus.Bus
	Sessions roster.Sessions
}

// Fleet holds the processes in which agents of a session run. It implements
// actors.RemoteAgents for the owner of the session.
type Fleet struct {
	options  Options
	parts    Parts
	scope    context.Context
	executor executor.Executor
	server   *rpc.Server // that processes ask; nil until it is opened; guarded by mu

	goroutines sync.WaitGroup
	paneHint   sync.Once // how the panes are seen

	mu     sync.Mutex
	procs  map[mailbox.AgentID]*proc       // guarded by mu
	losses map[mailbox.AgentID][]time.Time // when processes were lost; guarded by mu
	closed bool                            // guarded by mu
	// lastNested are the agents in each process besides its host, as reported last;
	// guarded by mu.
	lastNested map[mailbox.AgentID][]actors.Status
	// tombstones are the agents that have ended for good, with those below them; guarded
	// by mu.
	tombstones map[mailbox.AgentID]bool
}

// New returns a fleet without processes. The notes list where it differs from the
// options. Its processes' goroutines end with ctx.
func New(ctx context.Context, o Options) (f *Fleet, notes []string) {
	o.FirstReport, o.Silence = cmp.Or(o.FirstReport, firstReportTimeout), cmp.Or(o.Silence, lostAfter)
	f = &Fleet{
		options: o, scope: ctx, executor: o.Executor,
		procs: map[mailbox.AgentID]*proc{}, losses: map[mailbox.AgentID][]time.Time{}, lastNested: map[mailbox.AgentID][]actors.Status{}, tombstones: map[mailbox.AgentID]bool{},
	}
	if f.executor == nil {
		f.executor, notes = o.chooseExecutor()
	}
	return f, notes
}

// Attach sets the parts of the session that are created after the fleet. It must be
// called before an agent is started.
func (f *Fleet) Attach(p Parts) { f.parts = p }

// chooseExecutor returns the executor for Where. Without tmux it falls back to
// processes without panes.
func (o Options) chooseExecutor() (executor.Executor, []string) {
	if o.Where != agent.InTmux {
		return executor.Plain{}, nil
	}
	t, err := executor.NewTmux(o.Record.Get().ID, childenv.Of(o.Getenv, paneVariables()), o.Getenv)
	if err != nil {
		return executor.Plain{}, []string{fmt.Sprintf("teammates run without panes: %v", err)}
	}
	return t, nil
}

// paneVariables are what a process needs before it has reached the session, from which it
// gets all others.
func paneVariables() []string {
	return []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR"}
}

// hintPanes publishes once how to watch the panes.
func (f *Fleet) hintPanes() {
	t, ok := f.executor.(*executor.Tmux)
	if !ok || t.Attach() == "" {
		return
	}
	f.paneHint.Do(func() {
		f.options.Events.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName},
			event.Hint{Text: "teammates work in tmux panes; watch them from another terminal with: " + t.Attach()})
	})
}

// removeUnborn removes the directories of processes whose agents were never created,
// because the owner was killed before their first report.
func (o Options) removeUnborn() error {
	dirs, err := os.ReadDir(o.dir(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range dirs {
		id := mailbox.AgentID(d.Name())
		if _, born := o.Store.Get(id); !born && !executor.Held(o.lock(id)) {
			err = errors.Join(err, os.RemoveAll(o.dir(id)))
		}
	}
	return err
}

// Open starts to answer requests of processes.
func (f *Fleet) Open(conn *nats.Conn) (err error) {
	if err := f.options.removeUnborn(); err != nil {
		f.options.Logger.Warn("the directory of a process without an agent could not be removed", "error", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil // the session is closing
	}
	return f.serve(conn)
}

func (f *Fleet) proc(id mailbox.AgentID) *proc {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.procs[id]
}

func (o Options) dir(id mailbox.AgentID) string { return archive.Dir(o.Record.Get().Path, id) }

func (o Options) lock(id mailbox.AgentID) string { return filepath.Join(o.dir(id), "lock") }

// Close asks all processes to end with their turns left open, and kills those that do
// not.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	var all []*proc
	for _, p := range f.procs {
		p.leaving = true
		all = append(all, p)
	}
	f.mu.Unlock()
	var left sync.WaitGroup
	errs := make([]error, len(all))
	for i, p := range all {
		left.Go(func() { errs[i] = f.quitProcess(ctx, p) })
	}
	strays := f.orphans()
	strayed := make([]error, len(strays))
	for i, path := range strays {
		left.Go(func() { strayed[i] = f.reapOrphan(ctx, path) })
	}
	left.Wait()
	f.reapCommands()
	if t, ok := f.executor.(*executor.Tmux); ok {
		errs = append(errs, t.Close(ctx))
	}
	errs = append(errs, strayed...)
	return errors.Join(errs...)
}

// Wait waits for all goroutines. The session's scope must have ended.
func (f *Fleet) Wait() (err error) {
	f.mu.Lock()
	server := f.server
	f.mu.Unlock()
	if server != nil {
		err = server.Close()
	}
	f.goroutines.Wait()
	return err
}

// orphans returns the locks of processes of an earlier owner that have not reported
// here. A process that reports now is asked to end.
func (f *Fleet) orphans() (locks []string) {
	if !f.parts.Bus.Serving() {
		return nil // nobody can report
	}
	for _, t := range f.options.Store.All() {
		if t.IsReplica() && f.proc(t.ID()) == nil {
			locks = append(locks, f.options.lock(t.ID()))
		}
	}
	return locks
}

// reapOrphan waits for the end of an orphan, which is asked to end when it reports, and
// then kills it.
func (f *Fleet) reapOrphan(ctx context.Context, lock string) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), workerapi.ReportInterval+stopTimeout)
	awaitUnlocked(wait, lock)
	cancel()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer stop()
	return f.killHolder(last, lock)
}

// awaitUnlocked waits until no process holds a lock, or ctx ends.
func awaitUnlocked(ctx context.Context, lock string) {
	tick := time.NewTicker(workerapi.ReportInterval / 20)
	defer tick.Stop()
	for executor.Held(lock) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// quitProcess asks a process to end and kills it if it does not.
func (f *Fleet) quitProcess(ctx context.Context, p *proc) error {
	if p.process == nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if _, err := callWorker(wait, f, p.spec.ID, workerapi.DoQuit, workerapi.LaunchIn{}); err == nil {
		select {
		case <-p.process.Done():
			return nil
		case <-wait.Done():
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer stop()
	return f.releaseAndForget(last, p)
}

// reapCommands ends commands of processes that had no time to end them. They can be
// found a moment after the lock of their process is released.
func (f *Fleet) reapCommands() {
	tick := time.NewTicker(workerapi.ReportInterval / 20)
	defer tick.Stop()
	for range 3 {
		if _, err := builtin.Reap(f.options.Record.Get().ID); err != nil {
			return // commands that cannot be found have ended with their process
		}
		<-tick.C
	}
}
