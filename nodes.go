package swarm

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

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool/builtin"
	"github.com/nats-io/nats.go"
)

// How long the processes of agents may take.
const (
	firstSignWithin = time.Minute            // from the start of a process to its first report
	joinWithin      = 10 * time.Second       // for a process of an earlier owner to report
	beat            = workerapi.Beat         // from one report to the next, at the latest
	silence         = 15 * time.Second       // without a report, after which a process counts as lost
	askNodeWithin   = workerapi.AnswerWithin // for an answer of a process
)

// nodeOptions say what the owner's side of agents with processes is made of.
type nodeOptions struct {
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

// connections are the parts of a session that are there after the nodes.
type connections struct {
	Agents   *actors.Coordinator
	Roster   *team.Roster
	Bus      *bus.Bus
	Sessions team.Sessions
}

// nodes are the processes in which agents of this session run: the
// actors.RemoteAgents of the process that owns the session.
type nodes struct {
	o      nodeOptions
	c      connections
	scope  context.Context
	exec   executor.Executor
	server *rpc.Server // that processes ask; nil until it is opened; guarded by mu

	work sync.WaitGroup
	told sync.Once // how the panes are seen

	mu     sync.Mutex
	seats  map[mailbox.AgentID]*seat       // guarded by mu
	fell   map[mailbox.AgentID][]time.Time // when processes were lost; guarded by mu
	closed bool                            // guarded by mu
	// staffs are the agents below those that have a process, as last seen; guarded by mu.
	staffs map[mailbox.AgentID][]actors.Status
	// buried are agents that have ended for good, with those below them; guarded by mu.
	buried map[mailbox.AgentID]bool
}

// newNodes returns the processes of a session, of which there are none yet. Its notes
// say what is other than the options want it. What it starts ends with ctx.
func newNodes(ctx context.Context, o nodeOptions) (n *nodes, notes []string) {
	o.FirstSign, o.Silence = cmp.Or(o.FirstSign, firstSignWithin), cmp.Or(o.Silence, silence)
	n = &nodes{
		o: o, scope: ctx, exec: o.Executor,
		seats: map[mailbox.AgentID]*seat{}, fell: map[mailbox.AgentID][]time.Time{}, staffs: map[mailbox.AgentID][]actors.Status{}, buried: map[mailbox.AgentID]bool{},
	}
	if n.exec == nil {
		n.exec, notes = o.chooseExecutor()
	}
	return n, notes
}

// attach gives the nodes the parts of the session that are made after them, before an agent
// is started.
func (n *nodes) attach(c connections) { n.c = c }

// chooseExecutor falls back to processes without a pane: what comes out is the
// same.
func (o nodeOptions) chooseExecutor() (executor.Executor, []string) {
	if o.Where != agent.InTmux {
		return executor.Plain{}, nil
	}
	t, err := executor.NewTmux(o.Record.Get().ID, o.Getenv)
	if err != nil {
		return executor.Plain{}, []string{fmt.Sprintf("teammates run without panes: %v", err)}
	}
	return t, nil
}

// tellPanes says once how a person sees the panes, when there is one.
func (n *nodes) tellPanes() {
	t, ok := n.exec.(*executor.Tmux)
	if !ok || t.Attach() == "" {
		return
	}
	n.told.Do(func() {
		n.o.Events.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName},
			event.Hint{Text: "teammates work in tmux panes; watch them from another terminal with: " + t.Attach()})
	})
}

// sweep takes away the directories of processes that were started for agents
// which never were: their owner was killed before the first sign of life.
func (n *nodes) sweep() error {
	dirs, err := os.ReadDir(n.dir(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range dirs {
		id := mailbox.AgentID(d.Name())
		if _, born := n.o.Store.Get(id); !born && !executor.Held(n.lock(id)) {
			err = errors.Join(err, os.RemoveAll(n.dir(id)))
		}
	}
	return err
}

// open begins to listen to the nodes.
func (n *nodes) open(conn *nats.Conn) (err error) {
	if err := n.sweep(); err != nil {
		n.o.Logger.Warn("what a process left that was never an agent's is still there", "error", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil // nobody is there to answer
	}
	return n.serve(conn)
}

func (n *nodes) known(id mailbox.AgentID) *seat {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seats[id]
}

func (n *nodes) dir(id mailbox.AgentID) string { return archive.Dir(n.o.Record.Get().Path, id) }

func (n *nodes) lock(id mailbox.AgentID) string { return filepath.Join(n.dir(id), "lock") }

// close asks every process to leave its turn open and end, and sees to it.
func (n *nodes) close(ctx context.Context) error {
	n.mu.Lock()
	n.closed = true
	var all []*seat
	for _, s := range n.seats {
		s.leaving = true
		all = append(all, s)
	}
	n.mu.Unlock()
	var left sync.WaitGroup
	errs := make([]error, len(all))
	for i, s := range all {
		left.Go(func() { errs[i] = n.dismiss(ctx, s) })
	}
	strays := n.strays()
	strayed := make([]error, len(strays))
	for i, path := range strays {
		left.Go(func() { strayed[i] = n.turnOut(ctx, path) })
	}
	left.Wait()
	n.reapRest()
	if t, ok := n.exec.(*executor.Tmux); ok {
		errs = append(errs, t.Close(ctx))
	}
	errs = append(errs, strayed...)
	return errors.Join(errs...)
}

// wait returns when nothing of this is under way. It is called once the session's scope
// has ended.
func (n *nodes) wait() (err error) {
	n.mu.Lock()
	server := n.server
	n.mu.Unlock()
	if server != nil {
		err = server.Close()
	}
	n.work.Wait()
	return err
}

// strays returns the locks of processes that an earlier owner has started and
// that have not reported here. Each is told to end when it does.
func (n *nodes) strays() (locks []string) {
	if !n.c.Bus.IsServed() {
		return nil // nobody can report
	}
	for _, t := range n.o.Store.All() {
		if t.IsReplica() && n.known(t.ID()) == nil {
			locks = append(locks, n.lock(t.ID()))
		}
	}
	return locks
}

// turnOut waits for the end of a process without a seat, which is told to end when
// it reports, and ends one that does not.
func (n *nodes) turnOut(ctx context.Context, lock string) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat+closeWithin)
	awaitFree(wait, lock)
	cancel()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer stop()
	return n.evict(last, lock)
}

// awaitFree returns when nobody holds a lock, or when ctx ends.
func awaitFree(ctx context.Context, lock string) {
	tick := time.NewTicker(beat / 20)
	defer tick.Stop()
	for executor.Held(lock) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (n *nodes) dismiss(ctx context.Context, s *seat) error {
	if s.process == nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	if _, err := askWorker(wait, n, s.spec.ID, workerapi.DoQuit, workerapi.LaunchIn{}); err == nil {
		select {
		case <-s.process.Gone():
			return nil
		case <-wait.Done():
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer stop()
	return n.end(last, s)
}

// reapRest ends what processes that had no time for it have left of their commands.
// They are found by the end of their process, which comes a moment after the end of
// its lock.
func (n *nodes) reapRest() {
	tick := time.NewTicker(beat / 20)
	defer tick.Stop()
	for range 3 {
		if _, err := builtin.Reap(n.o.Record.Get().ID); err != nil {
			return // what cannot be found has ended with its process
		}
		<-tick.C
	}
}
