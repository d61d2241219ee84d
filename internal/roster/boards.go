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

	lastSeen map[mailbox.AgentID]time.Time // when members outside were last heard of; guarded by mu
}

// NewBoards returns the lists whose entries open finds.
func NewBoards(c *coordinator.Coordinator, open func(ctx context.Context, list string) (board.Store, error), o board.Options) *Boards {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	return &Boards{open: open, agents: c, options: o, lists: map[string]*board.Board{}, lastSeen: map[mailbox.AgentID]time.Time{}}
}

// Get returns the list of a name; an empty one is made. What agents hold on it
// that ended before it was opened is free when Get returns.
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

// Open returns a list if somebody has used it.
func (b *Boards) Open(list string) (*board.Board, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.lists[list]
	return found, ok
}

// Names returns the names of the lists that somebody has used, in order.
func (b *Boards) Names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.lists))
}

// Run keeps the leases of the lists that are open until ctx ends: those of
// agents that live are renewed, what others held is offered again: of an agent that
// is known to have ended in a quarter of a lease, of every other when its lease ends,
// however long the renewals take. After each round of them it calls export.
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

// Export gives every list that somebody has used to write, with its tasks.
func (b *Boards) Export(write func(list string, tasks []board.Task) error) error {
	var errs []error
	for _, name := range b.Names() {
		if list, ok := b.Open(name); ok {
			errs = append(errs, write(name, list.List()))
		}
	}
	return errors.Join(errs...)
}

// offer offers again, until ctx ends, what is held by nobody who lives.
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

// expire takes what ended agents held back at once, and what those held that nobody
// knows at the end of their leases. It returns when the next lease ends, if one does.
func (b *Boards) expire(ctx context.Context, list *board.Board) (time.Time, error) {
	reclaimed := b.reclaim(ctx, list)
	next, err := list.Expire(ctx, b.isAlive)
	return next, errors.Join(reclaimed, err)
}

// reclaim offers again what agents hold that have ended.
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

// Release offers again what an agent holds on the lists that are open.
func (b *Boards) Release(ctx context.Context, id mailbox.AgentID) error {
	var errs []error
	for _, list := range b.all() {
		errs = append(errs, list.Release(ctx, id))
	}
	return errors.Join(errs...)
}

// MemberLease is how long a outside member keeps what it has claimed without
// being heard of: nothing else tells that it is alive.
const MemberLease = 10 * time.Minute

// Renew notes that a outside member is alive.
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

// BoardMember is an agent as a board sees it.
func BoardMember(l agent.Record) board.Member {
	s := l.Spec
	return board.Member{
		Address: mailbox.Address{Agent: s.ID, Incarnation: l.Incarnation}, Name: agent.DisplayName(s), Lead: s.Role == agent.Lead,
		Writes: s.Role == agent.Program || slices.ContainsFunc([]string{"Write", "Edit", "NotebookEdit"}, func(name string) bool { return slices.Contains(s.Tools, name) }),
	}
}
