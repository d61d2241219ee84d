package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// Options configure a Board. The zero value is that of a session.
type Options struct {
	// Lease is how long a claim lasts without renewal; 0 is a minute.
	Lease time.Duration
	// Changed, if not nil, receives every change that this board sees, its own and others',
	// in order and never two at a time. It must not block nor call the board.
	Changed func(Change)
}

// Change is one thing that happened to a task.
type Change struct {
	What What
	Task Task
	From Status // before, for Moved
}

// What is the kind of a change.
type What string

// The changes of a task.
const (
	Made    What = "created"
	Moved   What = "moved"   // its status or owner
	Edited  What = "edited"  // something else
	Freed   What = "freed"   // the last task that it waited for is done
	Offered What = "offered" // its owner lost it: it can be claimed again
)

// Board is one task list.
type Board struct {
	store Store
	opts  Options

	writing sync.Mutex // held by a change: concurrent ones would conflict

	mu    sync.Mutex
	tasks map[ID]entry // guarded by mu
	plan  plan         // guarded by mu
	rev   uint64       // of plan; guarded by mu

	scope context.Context // of the watch
	stop  context.CancelCauseFunc
	done  <-chan struct{}
}

type entry struct {
	task Task
	rev  uint64
}

const planKey = "plan"

func taskKey(id ID) string { return "task." + string(id) }

// newestKey is the key under which the store has the newest incarnation of an agent that
// has moved a task.
func newestKey(agent mailbox.AgentID) string { return "newest." + string(agent) }

var errClosed = errors.New("board: closed")

// Open returns the board of a store and follows its changes until Close.
func Open(ctx context.Context, store Store, o Options) (*Board, error) {
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	b := &Board{store: store, opts: o, tasks: map[ID]entry{}}
	b.scope, b.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	var err error
	if b.done, err = store.Watch(b.scope, b.see); err != nil {
		b.stop(errClosed)
		return nil, fmt.Errorf("board: follow the store: %w", err)
	}
	return b, nil
}

// Close ends the watch. The board stays in the store. Close may be called more than once.
func (b *Board) Close() {
	b.stop(errClosed)
	<-b.done
}

// Get returns a task.
func (b *Board) Get(id ID) (Task, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.tasks[id]
	if !ok || e.task.Status == Deleted {
		return Task{}, &UnknownError{ID: id}
	}
	return b.whole(e.task), nil
}

// List returns every task, lowest id first.
func (b *Board) List() []Task {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Task
	for _, e := range b.tasks {
		if e.task.Status != Deleted {
			all = append(all, b.whole(e.task))
		}
	}
	slices.SortFunc(all, func(x, y Task) int { return byNumber(x.ID, y.ID) })
	return all
}

// whole returns a copy of t with its part of the plan. mu is held.
func (b *Board) whole(t Task) Task {
	t = t.clone()
	t.BlockedBy = b.openBlockers(t.ID)
	t.Blocks = slices.DeleteFunc(b.plan.dependants(t.ID), func(id ID) bool {
		e, ok := b.tasks[id]
		return !ok || e.task.Status == Deleted
	})
	return t
}

// openBlockers returns the tasks that id still waits for, without those that were deleted
// or whose creation a crash interrupted. mu is held.
func (b *Board) openBlockers(id ID) []ID {
	var open []ID
	for _, on := range b.plan.Waits[id] {
		if e, ok := b.tasks[on]; ok && e.task.Status != Completed && e.task.Status != Deleted {
			open = append(open, on)
		}
	}
	slices.SortFunc(open, byNumber)
	return open
}

// see applies an entry of the store, which may be an old one. It is called by the watch and
// after each write, so that a writer sees its own change.
func (b *Board) see(e Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Key == planKey {
		b.seePlan(e)
		return
	}
	var t Task
	if err := json.Unmarshal(e.Value, &t); err != nil || taskKey(t.ID) != e.Key {
		return // an entry of another kind
	}
	old, known := b.tasks[t.ID]
	if known && old.rev >= e.Revision {
		return
	}
	b.tasks[t.ID] = entry{t, e.Revision}
	b.announce(t, old.task, known)
}

func (b *Board) seePlan(e Entry) {
	var p plan
	if e.Revision <= b.rev || json.Unmarshal(e.Value, &p) != nil {
		return
	}
	b.plan, b.rev = p, e.Revision
}

// announce reports a change. mu is held, so that changes are reported in order.
func (b *Board) announce(t, old Task, known bool) {
	if b.opts.Changed == nil {
		return
	}
	c := Change{What: Edited, Task: b.whole(t), From: old.Status}
	switch {
	case !known:
		c.What = Made
	case old.Claim != nil && t.Claim == nil && t.Status == Pending:
		c.What = Offered
	case old.Status != t.Status || old.Owner != t.Owner:
		c.What = Moved
	}
	b.opts.Changed(c)
	if closed(t.Status) && known && !closed(old.Status) {
		b.announceFreed(t.ID)
	}
}

func (b *Board) announceFreed(done ID) {
	for _, id := range b.plan.dependants(done) {
		if e, ok := b.tasks[id]; ok && e.task.Status == Pending && len(b.openBlockers(id)) == 0 {
			b.opts.Changed(Change{What: Freed, Task: b.whole(e.task), From: Pending})
		}
	}
}

func closed(s Status) bool { return s == Completed || s == Deleted }
