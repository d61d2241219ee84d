package actors

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/actors/kernel"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agent"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
	"golang.org/x/sync/semaphore"
)

// LeadID is the id of the agent that talks with the user.
const LeadID mailbox.AgentID = "lead"

// LeadName is the name under which others address the lead.
const LeadName = "team-lead"

// Options is what a Coordinator needs from the rest of the runtime. Every
// field but Policy, Receipt and Logger is required.
type Options struct {
	Store  *transcript.Store
	Policy Policy
	// Definitions returns the agent types as they are at the moment of the call.
	// An agent keeps the one it was started with.
	Definitions func() *defs.Set
	// Model returns the model of a name and its exact id.
	Model func(name string) (model.Model, string, error)
	// Tools returns what an agent of this session can be given, besides the
	// tools of this package. It is called once per agent and process, at the
	// agent's first turn.
	Tools func(Agent) Toolbox
	// ToolNames are the names of all tools that Tools may return.
	ToolNames []string
	// System returns the system prompt of an agent, block by block.
	System func(transcript.Spec, defs.Definition) []string
	// Permission returns the policy that an agent's calls are judged by.
	Permission func(transcript.Spec) permission.Policy
	Events     *event.Bus
	// Isolate gives an agent a directory of its own, a copy of spec.Dir at first
	// and the same one for each later incarnation; nil means that none can be given.
	Isolate func(ctx context.Context, spec transcript.Spec, incarnation uint32) (*Isolation, error)
	// Receipt sends a receipt to the sender of a message; may be nil.
	Receipt func(mailbox.Receipt)
	// Restart says how often an agent's host is restarted after a panic before
	// it is parked; nil is three times in a minute.
	Restart *kernel.RestartPolicy
	Logger  *slog.Logger
}

// Agent is what tools and the composition see of one agent.
type Agent struct {
	Transcript *transcript.Transcript
	Spec       transcript.Spec
}

// Toolbox is what one agent is given. Close, which may be nil, ends what its
// tools left running; it is called once, when the agent has ended or the
// session shuts down.
type Toolbox struct {
	Tools []tool.Tool
	Close func() error
}

// Coordinator brings agents to life, wakes and ends them. Its methods may be
// called from any goroutine.
type Coordinator struct {
	opts   Options
	kernel *kernel.System
	places *semaphore.Weighted // turns of children at the same time

	scope context.Context // of the session
	end   context.CancelCauseFunc
	turns sync.WaitGroup // goroutines of turns; started through work
	live  atomic.Bool    // Start has finished: hosts may begin turns

	moves    atomic.Uint64 // hosts made and turns ended so far
	changing atomic.Int32  // agents that are being woken by mail or given up

	// reviving guards kernel, scope and end until Start has set them, and lets
	// an agent come to life once, whoever wakes it.
	reviving sync.Mutex

	mu      sync.Mutex
	hosts   map[mailbox.AgentID]*host           // guarded by mu
	names   map[string]mailbox.AgentID          // guarded by mu; lower case
	calls   map[callKey]mailbox.AgentID         // guarded by mu; which agent a tool call made
	born    map[mailbox.AgentID]defs.Definition // of agents before their first turn; guarded by mu
	made    int                                 // agents so far; guarded by mu
	closed  bool                                // guarded by mu
	changed chan struct{}                       // closed and replaced when an agent may have gone quiet; guarded by mu
}

type callKey struct {
	parent mailbox.AgentID
	call   string
}

// New returns a coordinator for the agents in o.Store. They can be found at
// once; nothing runs before Start.
func New(o Options) *Coordinator {
	c := &Coordinator{
		opts:    o,
		places:  semaphore.NewWeighted(int64(o.Policy.maxConcurrent())),
		hosts:   map[mailbox.AgentID]*host{},
		names:   map[string]mailbox.AgentID{},
		calls:   map[callKey]mailbox.AgentID{},
		born:    map[mailbox.AgentID]defs.Definition{},
		changed: make(chan struct{}),
	}
	for _, t := range o.Store.All() {
		c.index(t.Spec())
	}
	return c
}

// Start brings the agents that the transcripts tell of back to life: a turn
// that was cut goes on, an end that was not told is told. ctx is the session's
// scope; cancelling it shuts every agent down with its turn left open.
func (c *Coordinator) Start(ctx context.Context) error {
	c.reviving.Lock()
	defer c.reviving.Unlock()
	// Whatever ends ctx is a shutdown to the agents: their turns stay open.
	c.scope, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { c.end(fmt.Errorf("%w: %w", agent.ErrShutdown, context.Cause(ctx))) })
	c.kernel = kernel.New(kernel.Options{Logger: c.opts.Logger})
	var errs []error
	for _, t := range c.opts.Store.All() {
		errs = append(errs, c.revive(t))
	}
	// Only now that every agent can be found may one of them look for another.
	c.live.Store(true)
	for _, h := range c.all() {
		h.ref.Tell(look{})
	}
	return errors.Join(errs...)
}

// revive gives an agent a host if it has none and something to live for.
// reviving is held.
func (c *Coordinator) revive(t *transcript.Transcript) error {
	life := t.Life()
	c.index(life.Spec)
	switch {
	case life.Spec.Role == transcript.User, c.lookup(t.ID()) != nil:
		return nil
	case life.Closed && !c.missed(t):
		return nil
	}
	if err := t.Reopen(wakeRole(life)); err != nil {
		return err
	}
	_, err := c.host(c.scope, t, life.Incarnation+1)
	return err
}

// willRead says whether mail to an agent leads to a turn. One that has ended
// because it was done does not miss what was on its way then; one that was
// stopped stays so until it is written to again.
func willRead(l transcript.Life) bool {
	if l.Spec.Role == transcript.User {
		return false
	}
	return !l.Closed || l.Outcome == transcript.Completed && !l.Spec.OneShot
}

// missed reports whether an agent has ended without mail that is to wake it.
func (c *Coordinator) missed(t *transcript.Transcript) bool {
	l := t.Life()
	return l.Closed && willRead(l) && len(t.Unread()) > 0
}

// rouse brings an agent without a host to life if there is work for it: one
// whose mail came after its end, or whose host was given up.
func (c *Coordinator) rouse(t *transcript.Transcript) {
	if !c.live.Load() || t.Spec().Role == transcript.User || !t.HasWork() && !c.missed(t) {
		return
	}
	c.change(func() {
		c.reviving.Lock()
		defer c.reviving.Unlock()
		if err := c.revive(t); err != nil {
			c.publish(t, event.Warning{Text: fmt.Sprintf("%s has mail and could not be woken: %v", DisplayName(t.Spec()), err)})
		}
	})
}

// change is work without which the swarm is not quiet, although no host does it.
func (c *Coordinator) change(f func()) {
	c.changing.Add(1)
	begun := c.work(func() {
		defer c.Stir()
		defer c.changing.Add(-1)
		f()
	})
	if !begun {
		c.changing.Add(-1)
	}
}

// work runs f in a goroutine that Shutdown waits for, unless it has begun.
func (c *Coordinator) work(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.turns.Go(f)
	return true
}

func (c *Coordinator) all() []*host {
	c.mu.Lock()
	defer c.mu.Unlock()
	hosts := make([]*host, 0, len(c.hosts))
	for _, h := range c.hosts {
		hosts = append(hosts, h)
	}
	return hosts
}

// Spawn makes the agent that spec describes, gives it its prompt and starts it
// in scope. It returns when both are on disk. With an empty prompt the agent
// waits for its first message.
func (c *Coordinator) Spawn(scope context.Context, spec transcript.Spec, prompt string) (*transcript.Transcript, error) {
	t, wait, err := c.create(scope, spec)
	if err != nil {
		return nil, err
	}
	if prompt != "" {
		if err := t.Prompt("parent", prompt); err != nil {
			return nil, err
		}
	} else if err := wait(); err != nil {
		return nil, err
	}
	c.publish(t, event.Started{Model: spec.Model, Prompt: prompt, Background: spec.Role == transcript.Background})
	c.Look(spec.ID)
	return t, nil
}

// SpawnIdle makes agents that wait for their first message, all with one wait
// for the disk.
func (c *Coordinator) SpawnIdle(scope context.Context, specs []transcript.Spec) error {
	for _, spec := range specs {
		if _, _, err := c.create(scope, spec); err != nil {
			return err
		}
	}
	return c.opts.Store.Sync()
}

func (c *Coordinator) create(scope context.Context, spec transcript.Spec) (*transcript.Transcript, func() error, error) {
	if err := c.reserve(spec); err != nil {
		return nil, nil, err
	}
	t, wait, err := c.opts.Store.Create(spec)
	if err != nil {
		return nil, nil, err
	}
	_, err = c.host(scope, t, 1)
	return t, wait, err
}

// NameTakenError reports a spawn under a name that another agent has.
type NameTakenError struct {
	Name  string
	Owner mailbox.AgentID
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the name %q belongs to agent %s: choose another, or send it a message", e.Name, e.Owner)
}

// ErrShutDown is what a coordinator answers that has been stopped.
var ErrShutDown = errors.New("the session is shutting down")

// reserve takes the agent's name and its place among the session's agents.
func (c *Coordinator) reserve(spec transcript.Spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrShutDown
	}
	if limit := c.opts.Policy.maxAgents(); limit > 0 && c.made >= limit && spec.Role != transcript.Lead {
		return fmt.Errorf("this session has made %d agents, which is its limit: work with those it has", limit)
	}
	if owner, taken := c.names[strings.ToLower(spec.Name)]; taken && spec.Name != "" {
		return &NameTakenError{Name: spec.Name, Owner: owner}
	}
	c.indexLocked(spec)
	return nil
}

func (c *Coordinator) index(spec transcript.Spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexLocked(spec)
}

func (c *Coordinator) indexLocked(spec transcript.Spec) {
	if _, known := c.names[string(spec.ID)]; !known {
		c.made++
	}
	c.names[string(spec.ID)] = spec.ID
	if spec.Name != "" {
		c.names[strings.ToLower(spec.Name)] = spec.ID
	}
	if spec.Call != "" {
		c.calls[callKey{spec.Parent, spec.Call}] = spec.ID
	}
}

// MadeBy returns the agent that a tool call of parent has made, if it has.
func (c *Coordinator) MadeBy(parent mailbox.AgentID, call string) (mailbox.AgentID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.calls[callKey{parent, call}]
	return id, ok
}

// Find returns the agent that a name or id means. Case is ignored.
func (c *Coordinator) Find(name string) (*transcript.Transcript, bool) {
	c.mu.Lock()
	id, ok := c.names[strings.ToLower(strings.TrimPrefix(name, "@"))]
	c.mu.Unlock()
	if !ok {
		return nil, false
	}
	return c.opts.Store.Get(id)
}

// Look tells an agent's host to see whether there is work. It never blocks and
// may be called any number of times. An agent that has no host gets one if it
// has work.
func (c *Coordinator) Look(id mailbox.AgentID) {
	if h := c.lookup(id); h != nil {
		h.ref.Tell(look{})
	} else if t, ok := c.opts.Store.Get(id); ok {
		c.rouse(t)
	}
}

// Interrupt ends the turn that an agent is in, not the agent.
func (c *Coordinator) Interrupt(id mailbox.AgentID) {
	if h := c.lookup(id); h != nil {
		h.ref.Tell(cancel{cause: agent.ErrInterrupted})
	}
}

// Stop ends an agent: its turn is cancelled with cause, and it will not run
// again by itself; after agent.ErrKilled no message wakes it either. Stop
// returns when nothing of it is left running.
func (c *Coordinator) Stop(ctx context.Context, id mailbox.AgentID, cause error) error {
	if h := c.lookup(id); h != nil {
		h.ref.Tell(cancel{cause: cause, final: true})
		select {
		case <-h.ended:
		case <-c.scope.Done():
			return fmt.Errorf("stop %s: %w", id, context.Cause(c.scope))
		case <-ctx.Done():
			return fmt.Errorf("stop %s: %w", id, context.Cause(ctx))
		}
	}
	t, ok := c.opts.Store.Get(id)
	if !ok {
		return nil
	}
	if errors.Is(cause, agent.ErrKilled) {
		return t.Seal(cause.Error()) // also if it was faster, or had ended before
	}
	return t.Close(cause.Error(), t.Life().Kept)
}

// Await returns when an agent has ended, with what became of it.
func (c *Coordinator) Await(ctx context.Context, id mailbox.AgentID) (transcript.Life, error) {
	t, ok := c.opts.Store.Get(id)
	if !ok {
		return transcript.Life{}, fmt.Errorf("there is no agent %s", id)
	}
	if h := c.lookup(id); h != nil {
		select {
		case <-h.ended:
		case <-ctx.Done():
			return t.Life(), context.Cause(ctx)
		}
	}
	return t.Life(), nil
}

var errMoved = errors.New("the agent goes on in the background")

// awaitInForeground is Await that ends with errMoved when the agent is moved to
// the background, by somebody or because it has run for long.
func (c *Coordinator) awaitInForeground(ctx context.Context, t *transcript.Transcript) (transcript.Life, error) {
	h := c.lookup(t.ID())
	if h == nil {
		return t.Life(), nil
	}
	long := time.NewTimer(c.opts.Policy.autoBackground())
	defer long.Stop()
	select {
	case <-h.ended:
		return t.Life(), nil
	case <-ctx.Done():
		return t.Life(), context.Cause(ctx)
	case <-h.moved:
	case <-long.C:
	}
	switch err := t.MoveTo(transcript.Background); {
	case errors.Is(err, transcript.ErrTurnEnded):
		return c.Await(ctx, t.ID()) // it was faster: its end is the result of the call
	case err != nil:
		return t.Life(), err
	}
	return t.Life(), errMoved
}

// Background lets a running foreground agent go on in the background: its
// parent's call returns, and its end will be told by message.
func (c *Coordinator) Background(id mailbox.AgentID) error {
	h := c.lookup(id)
	if h == nil || h.t.Spec().Role != transcript.Foreground {
		return fmt.Errorf("%s does not run in the foreground", id)
	}
	h.moving.Do(func() { close(h.moved) })
	return nil
}

// FinalError reports an agent that cannot be woken again.
type FinalError struct {
	Name   string
	Reason string
}

func (e *FinalError) Error() string {
	return fmt.Sprintf("%s cannot be woken again (%s); start a new agent for more work", e.Name, e.Reason)
}

// Wake lets an agent that has ended work again, with the same id, conversation,
// tools, model and mode, in the background. The caller has something for it to
// do, a message. It does nothing for an agent that has not ended.
func (c *Coordinator) Wake(t *transcript.Transcript) error {
	c.reviving.Lock()
	defer c.reviving.Unlock()
	life := t.Life()
	name := DisplayName(life.Spec)
	switch {
	case !life.Closed:
		return nil
	case life.Reason == agent.ErrKilled.Error():
		return &FinalError{Name: name, Reason: life.Reason}
	case life.Spec.OneShot:
		return &FinalError{Name: name, Reason: life.Spec.Type + " agents answer once"}
	}
	if err := t.Reopen(wakeRole(life)); err != nil || c.kernel == nil {
		return err // before Start nobody runs; Start brings it to life
	}
	return c.revive(t)
}

// wakeRole is the role in which an agent that has ended works again.
func wakeRole(l transcript.Life) transcript.Role {
	if l.Spec.Role == transcript.Foreground {
		return transcript.Background // nobody waits for it any more
	}
	return l.Spec.Role
}

func (c *Coordinator) lookup(id mailbox.AgentID) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hosts[id]
}

// Shutdown ends every turn and leaves it open, to go on at the next start. It
// returns when nothing runs any more, or when ctx ends, with what was left. It
// may be called more than once.
func (c *Coordinator) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.reviving.Lock()
	end, system := c.end, c.kernel
	c.reviving.Unlock()
	if end == nil {
		return nil
	}
	end(agent.ErrShutdown)
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
			names = append(names, string(s.Life.Spec.ID))
		}
	}
	return names
}

// Quiet returns when no agent has work, no turn runs and no message between
// agents of this session is on its way.
func (c *Coordinator) Quiet(ctx context.Context) error {
	for {
		changed := c.whenChanged()
		if c.isQuiet() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isQuiet looks at one agent after the other; what it saw holds only if none
// began to live and no turn ended meanwhile.
func (c *Coordinator) isQuiet() bool {
	before := c.moves.Load()
	if c.anyBusy() { // said at once, at little cost
		return false
	}
	// Mail first: once it has arrived, its receiver has work.
	for _, e := range c.opts.Store.Pending() {
		if t, ok := c.opts.Store.Get(e.To.Agent); ok && willRead(t.Life()) {
			return false
		}
	}
	return !slices.ContainsFunc(c.opts.Store.All(), c.missed) && !c.anyBusy() && c.moves.Load() == before
}

func (c *Coordinator) anyBusy() bool {
	return c.changing.Load() > 0 || slices.ContainsFunc(c.all(), (*host).busy)
}

// Rest returns when an agent runs no turn.
func (c *Coordinator) Rest(ctx context.Context, id mailbox.AgentID) error {
	for {
		changed := c.whenChanged()
		if h := c.lookup(id); h == nil || !h.running.Load() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// whenChanged returns a channel that is closed at the next Stir.
func (c *Coordinator) whenChanged() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Stir wakes those who wait for Quiet, to look again.
func (c *Coordinator) Stir() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Coordinator) publish(t *transcript.Transcript, f event.Fact) {
	c.opts.Events.Publish(Describe(t.Spec()), f)
}

// Describe returns what events say of an agent.
func Describe(s transcript.Spec) event.Agent {
	return event.Agent{ID: s.ID, Name: DisplayName(s), Type: s.Type, Color: s.Color, Parent: s.Parent, Call: s.Call}
}

// DisplayName is how people and other agents see an agent.
func DisplayName(s transcript.Spec) string {
	switch {
	case s.Role == transcript.Lead:
		return LeadName
	case s.Name != "":
		return s.Name
	}
	return string(s.ID)
}

// NewID returns an id that no agent of the session has. It begins with name, as
// far as an id can, so that people can tell agents apart and type their ids.
func (c *Coordinator) NewID(name string) mailbox.AgentID {
	c.mu.Lock()
	defer c.mu.Unlock()
	for { // eight digits are few enough to type and too few to be sure of
		id := newID(name)
		if _, taken := c.names[string(id)]; !taken {
			return id
		}
	}
}

func newID(name string) mailbox.AgentID {
	var b [4]byte
	rand.Read(b[:]) // never fails
	token := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == '-', r == '_', r == ' ', r == '.', r == ':':
			return '-'
		}
		return -1
	}, strings.ToLower(name))
	token = strings.Trim(token[:min(len(token), 24)], "-")
	return mailbox.AgentID(first(token, "agent") + "-" + hex.EncodeToString(b[:]))
}

// grace is how long a stop waits for a turn before it reports it as stuck.
const grace = 5 * time.Second

// Sent tells observers that a message of an agent was accepted.
func (c *Coordinator) Sent(from *transcript.Transcript, e mailbox.Envelope) {
	c.publish(from, event.MailSent{Envelope: e})
}
