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
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/tool/builtin"
)

// How long the processes of agents may take.
const (
	firstSignWithin = time.Minute      // from the start of a process to its first report
	joinWithin      = 10 * time.Second // for a process of an earlier owner to report
	stopWithin      = 2 * time.Second  // for a process or an agent to end
)

// LostAfter is how long a process may be silent before it counts as lost.
const LostAfter = 15 * time.Second

// Options say what the owner's side of agents with processes is made of.
type Options struct {
	Record   *session.File
	StateDir string // of the user
	Team     string // id of the team of the session
	Store    *transcript.Store
	Events   *event.Bus
	Logger   *slog.Logger

	Where     agent.Place       // in which the user wants new agents
	Command   []string          // begins the command line of a process; empty is this program's own
	Executor  executor.Executor // starts processes; nil is what Where says
	FirstSign time.Duration     // how long a process may take to report; 0 is a minute
	Silence   time.Duration     // after which a process counts as lost; 0 is 15 s

	Attended   bool          // a person answers questions
	AskTimeout time.Duration // after which a question counts as refused; 0 is never

	Audit   func(event.Audit)        // notes what an agent was refused
	Getenv  func(name string) string // reads the environment of the session
	Receipt func(r mailbox.Receipt)  // sends a receipt, or keeps it until that is possible
	Prices  *price.Table             // of models
}

// Parts are the parts of a session that are made after the fleet.
type Parts struct {
	Agents   *coordinator.Coordinator
	Roster   *roster.Roster
	Bus      *bus.Bus
	Sessions roster.Sessions
}

// Fleet are the processes in which agents of this session run: the
// coordinator.RemoteAgents of the process that owns the session.
type Fleet struct {
	o      Options
	parts  Parts
	scope  context.Context
	exec   executor.Executor
	server *rpc.Server // that processes ask; nil until it is opened; guarded by mu

	work   sync.WaitGroup
	hinted sync.Once // how the panes are seen

	mu     sync.Mutex
	procs  map[mailbox.AgentID]*proc       // guarded by mu
	losses map[mailbox.AgentID][]time.Time // when processes were lost; guarded by mu
	closed bool                            // guarded by mu
	// lastNested are the agents below those that have a process, as last seen; guarded by mu.
	lastNested map[mailbox.AgentID][]actors.Status
	// tombstones are agents that have ended for good, with those below them; guarded by mu.
	tombstones map[mailbox.AgentID]bool
}

// New returns the processes of a session, of which there are none yet. Its notes
// say what is other than the options want it. What it starts ends with ctx.
func New(ctx context.Context, o Options) (f *Fleet, notes []string) {
	o.FirstSign, o.Silence = cmp.Or(o.FirstSign, firstSignWithin), cmp.Or(o.Silence, LostAfter)
	f = &Fleet{
		o: o, scope: ctx, exec: o.Executor,
		procs: map[mailbox.AgentID]*proc{}, losses: map[mailbox.AgentID][]time.Time{}, lastNested: map[mailbox.AgentID][]actors.Status{}, tombstones: map[mailbox.AgentID]bool{},
	}
	if f.exec == nil {
		f.exec, notes = o.chooseExecutor()
	}
	return f, notes
}

// Attach gives the fleet the parts of the session that are made after it, before an agent
// is started.
func (f *Fleet) Attach(p Parts) { f.parts = p }

// chooseExecutor falls back to processes without a pane: what comes out is the
// same.
func (o Options) chooseExecutor() (executor.Executor, []string) {
	if o.Where != agent.InTmux {
		return executor.Plain{}, nil
	}
	t, err := executor.NewTmux(o.Record.Get().ID, o.Getenv)
	if err != nil {
		return executor.Plain{}, []string{fmt.Sprintf("teammates run without panes: %v", err)}
	}
	return t, nil
}

// HasPanes reports whether a person can watch the processes in tmux.
func (f *Fleet) HasPanes() bool {
	_, ok := f.exec.(*executor.Tmux)
	return ok
}

// hintPanes says once how a person sees the panes, when there is one.
func (f *Fleet) hintPanes() {
	t, ok := f.exec.(*executor.Tmux)
	if !ok || t.Attach() == "" {
		return
	}
	f.hinted.Do(func() {
		f.o.Events.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName},
			event.Hint{Text: "teammates work in tmux panes; watch them from another terminal with: " + t.Attach()})
	})
}

// sweep takes away the directories of processes that were started for agents
// which never were: their owner was killed before the first sign of life.
func (o Options) sweep() error {
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

// Open begins to answer the processes.
func (f *Fleet) Open(conn *nats.Conn) (err error) {
	if err := f.o.sweep(); err != nil {
		f.o.Logger.Warn("what a process left that was never an agent's is still there", "error", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil // nobody is there to answer
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

// Close asks every process to leave its turn open and end, and sees to it.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	var all []*proc
	for _, s := range f.procs {
		s.leaving = true
		all = append(all, s)
	}
	f.mu.Unlock()
	var left sync.WaitGroup
	errs := make([]error, len(all))
	for i, s := range all {
		left.Go(func() { errs[i] = f.quit(ctx, s) })
	}
	strays := f.orphans()
	strayed := make([]error, len(strays))
	for i, path := range strays {
		left.Go(func() { strayed[i] = f.reapOrphan(ctx, path) })
	}
	left.Wait()
	f.reapRest()
	if t, ok := f.exec.(*executor.Tmux); ok {
		errs = append(errs, t.Close(ctx))
	}
	errs = append(errs, strayed...)
	return errors.Join(errs...)
}

// Wait returns when nothing of this is under way. It is called once the session's scope
// has ended.
func (f *Fleet) Wait() (err error) {
	f.mu.Lock()
	server := f.server
	f.mu.Unlock()
	if server != nil {
		err = server.Close()
	}
	f.work.Wait()
	return err
}

// orphans returns the locks of processes that an earlier owner has started and
// that have not reported here. Each is told to end when it does.
func (f *Fleet) orphans() (locks []string) {
	if !f.parts.Bus.IsServed() {
		return nil // nobody can report
	}
	for _, t := range f.o.Store.All() {
		if t.IsReplica() && f.proc(t.ID()) == nil {
			locks = append(locks, f.o.lock(t.ID()))
		}
	}
	return locks
}

// reapOrphan waits for the end of a process that nobody here started, which is told to end when
// it reports, and ends one that does not.
func (f *Fleet) reapOrphan(ctx context.Context, lock string) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), workerapi.ReportInterval+stopWithin)
	awaitFree(wait, lock)
	cancel()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer stop()
	return f.killHolder(last, lock)
}

// awaitFree returns when nobody holds a lock, or when ctx ends.
func awaitFree(ctx context.Context, lock string) {
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

func (f *Fleet) quit(ctx context.Context, s *proc) error {
	if s.process == nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	if _, err := askWorker(wait, f, s.spec.ID, workerapi.DoQuit, workerapi.LaunchIn{}); err == nil {
		select {
		case <-s.process.Gone():
			return nil
		case <-wait.Done():
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer stop()
	return f.end(last, s)
}

// reapRest ends what processes that had no time for it have left of their commands.
// They are found by the end of their process, which comes a moment after the end of
// its lock.
func (f *Fleet) reapRest() {
	tick := time.NewTicker(workerapi.ReportInterval / 20)
	defer tick.Stop()
	for range 3 {
		if _, err := builtin.Reap(f.o.Record.Get().ID); err != nil {
			return // what cannot be found has ended with its process
		}
		<-tick.C
	}
}
