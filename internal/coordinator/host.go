package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/kernel"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/slot"
	"github.com/actorswarm/swarm/internal/coordinator/stall"
	"github.com/actorswarm/swarm/internal/coordinator/watchdog"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/turnhook"
	"github.com/actorswarm/swarm/mailbox"
)

// The messages of a host.
type (
	wakeUp   struct{} // check whether there is work
	turnDone struct {
		end   ending
		panic any // what the turn's goroutine panicked with
	}
	cancel struct { // end the turn; with final, the agent too
		cause error
		final bool
	}
)

// ControlMessage makes a cancel overtake the messages that are queued.
func (cancel) ControlMessage() {}

// ending is how the work of a host has ended.
type ending int

const (
	proceed   ending = iota // check for more work
	finished                // the agent has ended
	suspended               // the session ends; the turn stays open
	failed                  // the runtime failed; nothing can be recorded any more
)

// host is the actor of one agent. Its fields belong to the actor unless a
// comment states otherwise.
type host struct {
	c       *Coordinator
	t       *transcript.Transcript
	permits permits
	hooks   *turnhook.Runner
	parent  context.Context // the scope of the agent
	ref     kernel.Ref      // set before the host is in Coordinator.hosts
	self    kernel.Ref      // the same, for the actor and the turn
	ended   chan struct{}   // closed when the agent will not run again by itself
	moved   chan struct{}   // closed when the agent is to go on in the background
	moving  sync.Once

	stop        context.CancelCauseFunc // of the running turn; nil when none runs
	running     atomic.Bool             // written by the actor, read by anyone
	stopped     error                   // why the agent is to end; nil: it is not to end
	held        atomic.Bool             // interrupted and not prompted since; written by the actor, read by anyone
	compactions compactions             // for a compaction
	failure     error                   // why the last work failed; written before its turnDone

	lasts   bool // it continues after a turn; never changes
	stating sync.Mutex
	state   state.State // guarded by stating

	current atomic.Pointer[turn.Turn] // the turn that runs

	turnContext context.Context    // of the turn; only the turn, which sets it before it runs
	watchdog    *watchdog.Watchdog // of the turn; only the turn, which sets it before it runs
	meter       meter              // of progress
	woken       bool               // the present incarnation is recorded; only the turn goroutine
	kit         *kit               // what every turn needs; only the turn goroutine
	isolation   *agent.Isolation   // the agent's own directory, if it has one; only the turn goroutine
	slot        *slot.Slot         // of the turn
	asked       atomic.Bool        // the turn works for the lead or the user
	stall       stall.Guard
	failed      []time.Time // when turns were begun anew; only the turn goroutine
}

// host starts the actor of an agent. The actor checks for work at once.
func (c *Coordinator) host(scope context.Context, t *transcript.Transcript, incarnation uint32) (*host, error) {
	now := time.Now()
	h := &host{
		c: c, t: t, parent: scope, ended: make(chan struct{}), moved: make(chan struct{}), slot: slot.New(c.slots),
		lasts: lasts(t.Spec().Role), state: state.State{Name: state.Resolving, Since: now, Progress: now},
	}
	h.permits = permits{h}
	h.hooks = turnhook.New(turnhook.Options{
		Hooks: c.opts.Hooks, Agent: t, Policy: h.permits.policy, Pause: h.pauseDeadlines, Context: func() context.Context { return h.turnContext },
	})
	// An earlier incarnation may still have its name: the count makes this one unique.
	name := fmt.Sprintf("%s#%d", mailbox.Address{Agent: t.ID(), Incarnation: incarnation}, c.moves.Add(1))
	ref, err := c.kernel.Spawn(name, func() kernel.Behavior { return h }, kernel.SpawnOptions{
		Parked: h.parked, Restart: c.restartPolicy(t.Spec()),
	})
	if err != nil {
		return nil, fmt.Errorf("start the host of %s: %w", name, err)
	}
	h.ref = ref
	c.hosts.put(h)
	if h.isOver() {
		c.drop(h) // it has ended meanwhile
	}
	return h, nil
}

// drop removes the host of an agent that has ended, unless another has taken over.
func (c *Coordinator) drop(h *host) {
	if c.hosts.remove(h) {
		c.planned.take(h.t.ID())
		h.t.Forget() // it is in the journal
	}
}

// Receive handles the messages of the actor.
func (h *host) Receive(c *kernel.Context, msg any) {
	switch m := msg.(type) {
	case kernel.Started:
		h.self = c.Self()
		h.wake()
	case wakeUp:
		if cause := h.stopCause(); cause != nil && h.stopped == nil {
			h.cancel(cancel{cause: cause, final: true})
			return
		}
		h.wake()
	case cancel:
		h.cancel(m)
	case turnDone:
		h.turnDone(m)
	case rest:
		h.forget()
	}
}

func (h *host) wake() {
	if h.running.Load() {
		h.preempt()
		return
	}
	if h.isOver() || !h.c.live.Load() {
		return
	}
	switch {
	case h.stopped != nil && !h.t.Record().TurnOpen:
		cause := h.stopped
		h.begin(func(ctx context.Context) ending { return h.retire(ctx, cause) })
	case h.hasWork(): // an open turn that is to stop ends as stopped
		h.held.Store(false)
		h.begin(h.turn)
	case h.owesReport():
		h.begin(h.finishTurn)
	case h.compactions.any():
		h.begin(h.compact)
	default:
		h.c.Notify()
	}
	if h.stopped != nil && h.running.Load() {
		h.stop(h.stopped)
	}
}

// hasWork reports whether there is a turn to begin. Mail begins none in an agent that was
// interrupted, which waits for its next prompt, nor mail on which the last turn failed.
func (h *host) hasWork() bool {
	return h.t.HasWork() && (h.t.Record().TurnOpen || !h.held.Load() && !h.stall.Holds(h.t.Unread))
}

func (h *host) isOver() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// begin runs work in a goroutine of its own under the agent's scope.
func (h *host) begin(work func(context.Context) ending) {
	ctx, stop := context.WithCancelCause(h.parent)
	h.stop, h.failure = stop, errCut
	h.running.Store(true)
	started := h.c.work(func() {
		// The agent's scope may outlast the shutdown, which waits for this goroutine.
		leave := context.AfterFunc(h.c.scope, func() { stop(context.Cause(h.c.scope)) })
		done := turnDone{end: failed}
		defer func() {
			leave()
			done.panic = recover()
			stop(nil)
			h.self.Tell(done)
		}()
		done.end = work(ctx)
	})
	if !started {
		stop(actors.ErrShutDown)
		h.running.Store(false)
	}
}

// errCut is the failure of work that recorded none.
var errCut = errors.New("the turn's goroutine exited")

func (h *host) cancel(m cancel) {
	if m.final && h.stopped == nil {
		h.stopped = m.cause
	}
	h.held.Store(!m.final && !endsByItself(h.t.Spec().Role))
	if !h.running.Load() && (m.final || h.t.Record().TurnOpen) {
		h.wake() // begins the turn that the cancel has overtaken, to end it
	}
	if h.running.Load() {
		h.stop(m.cause)
	}
}

func (h *host) turnDone(m turnDone) {
	h.c.moves.Add(1) // before others can see that it does not run
	h.running.Store(false)
	h.stop = nil
	switch {
	case m.panic != nil:
		panic(m.panic) // the supervisor decides about another incarnation
	case m.end == finished:
		h.finished()
	case m.end == proceed:
		h.wake()
	case m.end == failed && h.c.opts.Store.Err() == nil:
		// The journal works: only this agent cannot go on.
		h.parked("", h.failure)
		h.self.Stop()
	}
	h.c.Notify()
}

// finished ends the actor. What is recorded of the agent stays.
func (h *host) finished() {
	close(h.ended)
	h.c.drop(h)
	h.self.Stop()
	h.c.wakeDependents(h.t.Record())
	h.c.wakeIfWork(h.t) // for mail that came after its last check
}

// parked ends a host that its supervisor, or the host itself, gives up. The next message
// starts another one.
func (h *host) parked(_ string, reason error) {
	h.c.change(func() {
		waiting := len(h.t.Unread())
		h.closeTools()
		h.fail(reason)
		close(h.ended)
		h.c.drop(h)
		h.c.wakeDependents(h.t.Record())
		if len(h.t.Unread()) > waiting {
			h.c.wakeIfWork(h.t) // it found no host
		}
	})
}

// busy reports whether the agent runs or is about to. Any goroutine may ask.
func (h *host) busy() bool { return h.running.Load() || h.hasWork() || h.owesReport() }

// lasts reports whether an agent of a role continues after its turn.
func lasts(r agent.Role) bool { return r == agent.Lead || r == agent.Teammate }

// pauseDeadlines stops the deadlines of the turn until resume is called.
func (h *host) pauseDeadlines() (resume func()) {
	if h.watchdog == nil {
		return func() {}
	}
	h.watchdog.Pause()
	return h.watchdog.Resume
}
