package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/kernel"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/autojudge"
	"github.com/actorswarm/swarm/internal/coordinator/accounts"
	"github.com/actorswarm/swarm/internal/coordinator/registry"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Options is what a Coordinator needs from the rest of the runtime. Every
// field but Policy, Hooks, Auto, Grant, Isolate, Receipt, Logger, Remote and Owner is
// required.
type Options struct {
	Store  *transcript.Store
	Policy spawn.Policy
	// Definitions returns the agent types as they are at the moment of the call.
	// An agent keeps the one it was started with.
	Definitions func() *defs.Set
	// Model returns the model of a name and its exact id.
	Model func(name string) (model.Model, string, error)
	// Tools returns what an agent of this session can be given, besides the
	// tools of this package. It is called once per agent and process, at the
	// agent's first turn.
	Tools func(Agent) Toolbox
	// ToolNames returns the names of all tools that Tools may return now.
	ToolNames func() []string
	// Denied reports tools that no agent of this session has; nil is none.
	Denied func(tool string) bool
	// System returns the blocks of an agent's system prompt.
	System func(agent.Spec, defs.Definition) []string
	// Permission returns the policy by which an agent's calls are decided. It is
	// called for each call.
	Permission func(agent.Spec) permission.Policy
	// Hooks run at the events of the agents' lives; nil: none.
	Hooks *agenthook.Hooks
	// Auto decides about calls in mode auto before a person is asked; nil: nobody does.
	Auto *autojudge.Judge
	// Grant adds permission rules to the session, for good. If it is nil, no answer
	// can allow calls for good.
	Grant  func(rules []string, scope string) error
	Events *event.Bus
	// Budget bounds all agents of the session together, with what they have used
	// before. Its time begins with New.
	Budget budget.Limits
	// Prices are the prices of models, also for Store; nil: none is known.
	Prices Prices
	// Isolate gives an agent a directory of its own: a copy of spec.Dir at first, and
	// the same for each later incarnation. If it is nil, no agent can be isolated.
	Isolate func(ctx context.Context, spec agent.Spec, incarnation uint32) (*agent.Isolation, error)
	// Window returns how many tokens the context of a model holds, by its exact
	// id; 0 is unknown. It may be nil.
	Window func(model string) int64
	// Facts adds to the text that an agent reads after a compaction; may be nil.
	Facts func(Agent) string
	// Spill writes a text of which an agent got a part to a file of its own; may be nil.
	Spill    func(a mailbox.AgentID, id, text string) (path string, err error)
	MailPath func(a mailbox.AgentID, ref mailbox.Ref) string // a file of its own with a long message
	// Receipt sends a receipt to the sender of a message; may be nil.
	Receipt func(mailbox.Receipt)
	// Release releases what an agent that was shut down holds, such as its tasks; may
	// be nil. It may be called again for the same agent.
	Release func(ctx context.Context, id mailbox.AgentID) error
	// Audit records a request that was refused and publishes it. It must not block.
	// If it is nil, the request is published only.
	Audit func(event.Audit)
	// Restart is how often an agent's host is restarted after a panic before it is
	// parked; nil: three times in a minute.
	Restart *kernel.RestartPolicy
	Logger  *slog.Logger
	// Remote runs the agents that Spec.Where puts into a process of their own; nil:
	// there can be none.
	Remote RemoteAgents
	// Owner is set in a worker: the process that hosts the other agents.
	Owner Owner
}

// Agent is the agent for which tools are made.
type Agent struct {
	Transcript *transcript.Transcript
	Spec       agent.Spec
}

// Toolbox holds the tools of one agent. Close, which may be nil, ends the commands that
// the tools left running. It is called once, when the agent has ended or the session
// shuts down.
type Toolbox struct {
	Tools []tool.Tool
	Close func() error
}

// Coordinator starts, wakes and ends agents. Its methods may be called from any
// goroutine.
type Coordinator struct {
	opts      Options
	kernel    *kernel.System
	slots     *semaphore.Weighted // for the turns of children at the same time
	questions ask.Queue           // questions to a person

	hosts   hosts
	planned definitions // of agents before their first turn

	*directory
	*budgets
	*activity
	*waker
	*protocols
	*members
	*replicas

	scope context.Context // of the session
	end   context.CancelCauseFunc
	live  atomic.Bool // Start has finished: hosts may begin turns
}

// New returns a coordinator for the agents in o.Store. They can be found at once; none
// runs before Start.
func New(o Options) *Coordinator {
	o.Policy = o.Policy.WithDefaults()
	if o.Prices == nil {
		o.Prices = (*price.Table)(nil) // which knows nothing
	}
	if o.Hooks == nil {
		o.Hooks = agenthook.New(agenthook.Options{})
	}
	c := &Coordinator{
		opts:      o,
		slots:     semaphore.NewWeighted(int64(o.Policy.MaxConcurrent)),
		directory: &directory{store: o.Store, registry: registry.New(o.Store, o.Policy), policy: o.Policy, owner: o.Owner},
		budgets: &budgets{
			store: o.Store, model: o.Model, spawns: spawnLimiter(o.Policy.MaxSpawnRate),
			accounts: accounts.New(o.Budget, o.Prices, o.Store.All()),
		},
		activity: newActivity(),
	}
	c.waker, c.protocols, c.members, c.replicas = &waker{c: c}, newProtocols(c), &members{c}, &replicas{c: c}
	return c
}

// Start starts the hosts of the agents on record: an interrupted turn continues, an end
// that was not reported is reported. ctx is the session's scope; cancelling it shuts
// every agent down with its turn left open.
func (c *Coordinator) Start(ctx context.Context) error {
	c.waking.Lock()
	defer c.waking.Unlock()
	if err := c.accounts.Unpriced(c.opts.Store.All()); err != nil {
		return err
	}
	// Any end of ctx is a shutdown of the agents: their turns stay open.
	c.scope, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { c.end(fmt.Errorf("%w: %w", turn.ErrShutdown, context.Cause(ctx))) })
	c.kernel = kernel.New(kernel.Options{Logger: c.opts.Logger})
	var errs []error
	for _, t := range c.opts.Store.All() {
		errs = append(errs, c.ensureHost(t))
	}
	c.expireShutdowns()
	// From now on all agents can be found, so that turns may begin.
	c.live.Store(true)
	for _, h := range c.hosts.all() {
		h.ref.Tell(wakeUp{})
	}
	c.resumeProtocols()
	if keep := c.opts.Policy.Residency; keep > 0 {
		c.work(func() { c.sweep(keep) })
	}
	return errors.Join(errs...)
}

// Spawn makes the agent that spec describes, records its prompt and starts it in
// scope. It returns when both are on disk. With an empty prompt the agent
// waits for its first message.
func (c *Coordinator) Spawn(scope context.Context, spec agent.Spec, prompt string) (*transcript.Transcript, error) {
	t, wait, err := c.create(scope, spec)
	if err != nil {
		return nil, err
	}
	if prompt != "" && spec.Where != "" {
		if err := c.sendTask(t, prompt); err != nil {
			return nil, err
		}
	} else if prompt != "" {
		if err := t.Prompt("parent", prompt); err != nil {
			return nil, err
		}
	} else if err := wait(); err != nil {
		return nil, err
	}
	c.publish(t, event.Started{Model: spec.Model, Task: spec.Description, Prompt: prompt, Background: spec.Role == agent.Background})
	c.Wake(spec.ID)
	return t, nil
}

// SpawnIdle makes agents that wait for their first message, all with one wait
// for the disk.
func (c *Coordinator) SpawnIdle(scope context.Context, specs []agent.Spec) error {
	for _, spec := range specs {
		if _, _, err := c.create(scope, spec); err != nil {
			return err
		}
	}
	return c.opts.Store.Sync()
}

func (c *Coordinator) create(scope context.Context, spec agent.Spec) (*transcript.Transcript, func() error, error) {
	if err := c.reserve(spec); err != nil {
		return nil, nil, err
	}
	if spec.Where != "" {
		return c.createRemote(scope, spec)
	}
	// A caller that finds the agent as soon as the store has it must not start
	// another host.
	c.waking.Lock()
	defer c.waking.Unlock()
	t, wait, err := c.opts.Store.Create(spec)
	if err != nil {
		return nil, nil, err
	}
	_, err = c.host(scope, t, 1)
	return t, wait, err
}

// reserve takes the name of a new agent, counts it, and opens its account.
func (c *Coordinator) reserve(spec agent.Spec) error {
	if c.isClosed() {
		return actors.ErrShutDown
	}
	if err := c.registry.Reserve(spec); err != nil {
		return err
	}
	c.accounts.Open(spec, time.Now())
	return nil
}

// unreserve undoes reserve for an agent that was not made.
func (c *Coordinator) unreserve(spec agent.Spec) {
	c.registry.Unreserve(spec)
	c.planned.take(spec.ID)
}

// Wake makes an agent's host check whether there is work. It never blocks and may be
// called any number of times. An agent without a host gets one if it has work.
func (c *Coordinator) Wake(id mailbox.AgentID) {
	if h := c.hosts.get(id); h != nil {
		h.ref.Tell(wakeUp{})
	} else if t, ok := c.opts.Store.Get(id); ok {
		c.rejectUnreadIfFinal(t)
		c.wakeIfWork(t)
	}
}

// Interrupt ends the turn that an agent is in, not the agent.
func (c *Coordinator) Interrupt(id mailbox.AgentID) {
	if _, ok := c.replica(id); ok {
		c.opts.Remote.Interrupt(id)
	} else if h := c.hosts.get(id); h != nil {
		h.ref.Tell(cancel{cause: turn.ErrInterrupted})
	}
}

// Stop ends an agent: its turn is cancelled with cause, and it will not run
// again by itself; after turn.ErrKilled no message wakes it either. Stop
// returns when nothing of it is left running.
func (c *Coordinator) Stop(ctx context.Context, id mailbox.AgentID, cause error) error {
	if h := c.hosts.get(id); h != nil {
		h.ref.Tell(cancel{cause: cause, final: true})
		select {
		case <-h.ended:
		case <-c.scope.Done():
			return fmt.Errorf("stop %s: %w", id, context.Cause(c.scope))
		case <-ctx.Done():
			return fmt.Errorf("stop %s: %w", id, context.Cause(ctx))
		}
	}
	if t, ok := c.replica(id); ok {
		if err := c.opts.Remote.Stop(ctx, id, cause); err != nil {
			return fmt.Errorf("stop %s: %w", id, err)
		}
		if err := c.recordEnd(t, func() error { return t.Close(cause.Error(), c.releaseRemote(ctx, t)) }); err != nil {
			return err
		}
	}
	t, ok := c.opts.Store.Get(id)
	if !ok {
		return nil
	}
	if errors.Is(cause, turn.ErrKilled) {
		defer c.rejectUnreadIfFinal(t)
		return c.recordEnd(t, func() error { return t.Seal(cause.Error()) }) // also if it has ended by itself
	}
	return c.recordEnd(t, func() error { return t.Close(cause.Error(), t.Record().KeptDir) })
}

// recordEnd records the end of an agent without a host, and publishes its new state.
func (c *Coordinator) recordEnd(t *transcript.Transcript, end func() error) error {
	was := state.Resting(t.Record())
	err := end()
	if is := state.Resting(t.Record()); is.Name != was.Name {
		c.publish(t, event.StateChanged{From: was.Name, To: is.Name, Reason: is.Detail})
	}
	return err
}

// Await waits until an agent has ended, and returns its record.
func (c *Coordinator) Await(ctx context.Context, id mailbox.AgentID) (agent.Record, error) {
	t, ok := c.opts.Store.Get(id)
	if !ok {
		return agent.Record{}, fmt.Errorf("there is no agent %s", id)
	}
	if h := c.hosts.get(id); h != nil {
		select {
		case <-h.ended:
		case <-ctx.Done():
			return t.Record(), context.Cause(ctx)
		}
	}
	return t.Record(), nil
}

var errMoved = errors.New("the agent goes on in the background")

// awaitInForeground is Await that returns errMoved when the agent is moved to the
// background, by a caller or after Policy.AutoBackground.
func (c *Coordinator) awaitInForeground(ctx context.Context, t *transcript.Transcript) (agent.Record, error) {
	h := c.hosts.get(t.ID())
	if h == nil {
		return t.Record(), nil
	}
	patience := c.opts.Policy.AutoBackground
	if patience < 0 {
		patience = math.MaxInt64
	}
	long := time.NewTimer(patience)
	defer long.Stop()
	select {
	case <-h.ended:
		return t.Record(), nil
	case <-ctx.Done():
		return t.Record(), context.Cause(ctx)
	case <-h.moved:
	case <-long.C:
	}
	switch err := t.MoveTo(agent.Background); {
	case errors.Is(err, transcript.ErrTurnEnded):
		return c.Await(ctx, t.ID()) // it has ended meanwhile: its end is the result of the call
	case err != nil:
		return t.Record(), err
	}
	return t.Record(), errMoved
}

// Background lets a running foreground agent go on in the background: its
// parent's call returns, and its end is reported by message.
func (c *Coordinator) Background(id mailbox.AgentID) error {
	h := c.hosts.get(id)
	if h == nil || h.t.Spec().Role != agent.Foreground {
		return fmt.Errorf("%s does not run in the foreground, so no call waits for it", id)
	}
	h.moving.Do(func() { close(h.moved) })
	return nil
}

// Shutdown ends every turn and leaves it open, to go on at the next start. It returns
// when no turn runs any more, or when ctx ends; then the error names the agents that
// still run. It may be called more than once.
func (c *Coordinator) Shutdown(ctx context.Context) error {
	c.close()
	c.waking.Lock()
	end, system := c.end, c.kernel
	c.waking.Unlock()
	if end == nil {
		return nil
	}
	end(turn.ErrShutdown)
	done := make(chan struct{})
	go func() {
		c.turns.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("shut down: %s still run: %w", strings.Join(c.running(), ", "), context.Cause(ctx))
	}
	return system.Stop(ctx)
}

func (c *Coordinator) running() []string {
	var names []string
	for _, s := range c.Status() {
		if s.Running {
			names = append(names, string(s.Record.Spec.ID))
		}
	}
	return names
}

func (c *Coordinator) anyBusy() bool { return c.changing.Load() > 0 || c.AtWork() }

// AtWork reports whether an agent here has work. There may be none although the swarm is
// not quiet: a plan waits for a decision.
func (c *Coordinator) AtWork() bool { return slices.ContainsFunc(c.hosts.all(), (*host).busy) }

func (c *Coordinator) publish(t *transcript.Transcript, f event.Fact) {
	c.opts.Events.Publish(agent.Describe(t.Spec()), f)
}

// grace is how long a stop waits for a turn before it reports it as stuck.
const grace = 5 * time.Second

// Sent publishes that a message of an agent was accepted, and makes sure that its
// receiver has a process.
func (c *Coordinator) Sent(from mailbox.AgentID, e mailbox.Envelope) {
	if t, ok := c.opts.Store.Get(from); ok {
		c.publish(t, event.MailSent{Envelope: e})
	}
	c.EnsureProcess(e.To.Agent)
}
