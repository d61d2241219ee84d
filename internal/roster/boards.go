package roster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/board"
)

// Boards are the task lists of a session, one for each name, opened when they
// are first needed. Its methods may be called from any goroutine.
type Boards struct {
	open    func(ctx context.Context, list string) (board.Store, error)
	agents  *coordinator.Coordinator
	options board.Options

	mu     sync.Mutex
	lists  map[string]*board.Board // guarded by mu
	closed bool                    // guarded by mu

	lastSeen map[mailbox.AgentID]time.Time // when external members made their last request; guarded by mu
}

// NewBoards returns the lists that keep their entries in the stores of open.
func NewBoards(c *coordinator.Coordinator, open func(ctx context.Context, list string) (board.Store, error), o board.Options) *Boards {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	return &Boards{open: open, agents: c, options: o, lists: map[string]*board.Board{}, lastSeen: map[mailbox.AgentID]time.Time{}}
}

// Get returns the list of a name, which it creates if there is none. Tasks of agents that
// ended before it was opened are free when Get returns.
func (b *Boards) Get(ctx context.Context, list string) (*board.Board, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch found := b.lists[list]; {
	case b.closed:
		return nil, actors.ErrShutDown
	case found != nil:
		return found, nil
	}
	store, err := b.open(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("the task list %s cannot be opened: %w", list, err)
	}
	found, err := board.Open(ctx, store, b.options)
	if err != nil {
		return nil, fmt.Errorf("the task list %s cannot be read: %w", list, err)
	}
	if err := b.reclaim(ctx, found); err != nil {
		found.Close()
		return nil, fmt.Errorf("the task list %s cannot be tended: %w", list, err)
	}
	b.lists[list] = found
	return found, nil
}

// Open returns a list that has been used.
func (b *Boards) Open(list string) (*board.Board, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.lists[list]
	return found, ok
}

// Names returns the names of the lists that have been used, in order.
func (b *Boards) Names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.lists))
}

// Run renews the leases of living agents on the open lists until ctx ends, and offers the
// tasks of others again: those of an agent that is known to have ended within a quarter of
// a lease, any others when their lease ends, however long the renewals take. After each
// round it calls export.
func (b *Boards) Run(ctx context.Context, export func() error, trouble func(error)) {
	var offering sync.WaitGroup
	offering.Go(func() { b.offer(ctx, trouble) })
	defer offering.Wait()
	tick := time.NewTicker(b.options.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for _, list := range b.all() {
			if err := list.Renew(ctx, b.isAlive); err != nil && ctx.Err() == nil {
				trouble(fmt.Errorf("the leases of a task list could not be kept: %w", err))
			}
		}
		if err := export(); err != nil {
			trouble(err)
		}
	}
}

// Export calls write with each list that has been used and its tasks.
func (b *Boards) Export(write func(list string, tasks []board.Task) error) error {
	var errs []error
	for _, name := range b.Names() {
		if list, ok := b.Open(name); ok {
			errs = append(errs, write(name, list.List()))
		}
	}
	return errors.Join(errs...)
}

// offer offers the tasks of agents that have ended again, until ctx ends.
func (b *Boards) offer(ctx context.Context, trouble func(error)) {
	due := time.NewTimer(b.options.Lease / 4)
	defer due.Stop()
	for {
		select {
		case <-due.C:
		case <-ctx.Done():
			return
		}
		wait := b.options.Lease / 4
		for _, list := range b.all() {
			next, err := b.expire(ctx, list)
			if err != nil && ctx.Err() == nil {
				trouble(fmt.Errorf("what nobody works on could not be offered again: %w", err))
			}
			if !next.IsZero() {
				wait = min(wait, time.Until(next))
			}
		}
		due.Reset(wait)
	}
}

func (b *Boards) all() []*board.Board {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*board.Board
	for _, list := range b.lists {
		all = append(all, list)
	}
	return all
}

// expire releases the tasks of ended agents at once, and those of unknown agents at the end
// of their leases. It returns the end of the next lease, if there is one.
func (b *Boards) expire(ctx context.Context, list *board.Board) (time.Time, error) {
	reclaimed := b.reclaim(ctx, list)
	next, err := list.Expire(ctx, b.isAlive)
	return next, errors.Join(reclaimed, err)
}

// reclaim offers the tasks of ended agents again.
func (b *Boards) reclaim(ctx context.Context, list *board.Board) error {
	var errs []error
	for _, t := range list.List() {
		if t.Claim == nil {
			continue
		}
		if a, ok := b.agents.Find(string(t.Claim.Agent)); ok && a.Record().Closed {
			errs = append(errs, list.Release(ctx, t.Claim.Agent))
		}
	}
	return errors.Join(errs...)
}

// Release offers the tasks of an agent on the open lists again.
func (b *Boards) Release(ctx context.Context, id mailbox.AgentID) error {
	var errs []error
	for _, list := range b.all() {
		errs = append(errs, list.Release(ctx, id))
	}
	return errors.Join(errs...)
}

// MemberLease is how long an external member keeps its tasks without a request: nothing
// else shows that it runs.
const MemberLease = 10 * time.Minute

// Renew records that an external member runs.
func (b *Boards) Renew(id mailbox.AgentID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastSeen[id] = time.Now()
}

func (b *Boards) isSilent(id mailbox.AgentID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, ok := b.lastSeen[id]
	if !ok { // the session has just begun
		last = time.Now()
		b.lastSeen[id] = last
	}
	return time.Since(last) > MemberLease
}

func (b *Boards) isAlive(a mailbox.Address) bool {
	t, ok := b.agents.Find(string(a.Agent))
	if ok && t.Spec().Role == agent.Program && b.isSilent(t.ID()) {
		return false
	}
	return ok && !t.Record().Closed && a.Incarnation <= t.Address().Incarnation
}

// Close ends the lists. It may be called more than once.
func (b *Boards) Close() {
	b.mu.Lock()
	b.closed = true
	lists := b.lists
	b.lists = nil
	b.mu.Unlock()
	for _, list := range lists {
		list.Close()
	}
}

// BoardMember returns an agent as a member of a board.
func BoardMember(l agent.Record) board.Member {
	s := l.Spec
	return board.Member{
		Address: mailbox.Address{Agent: s.ID, Incarnation: l.Incarnation}, Name: agent.DisplayName(s), Lead: s.Role == agent.Lead,
		Writes: s.Role == agent.Program || slices.ContainsFunc([]string{"Write", "Edit", "NotebookEdit"}, func(name string) bool { return slices.Contains(s.Tools, name) }),
	}
}
