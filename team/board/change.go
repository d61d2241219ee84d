package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// New is the content of a new task. Subject is required.
type New struct {
	Subject     string
	Description string
	ActiveForm  string
	Writes      bool // only a member with writing tools may claim it
	BlockedBy   []ID
	Metadata    map[string]any
	Owner       string // the name of the only member that may claim it; "" is any
}

// Create adds a task to the board.
func (b *Board) Create(ctx context.Context, by Member, n New) (Task, error) {
	if strings.TrimSpace(n.Subject) == "" {
		return Task{}, errors.New("the task has no subject: say in a few words what is to be done")
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	var id ID
	err := b.changePlan(ctx, func(p *plan) error {
		id = ID(strconv.Itoa(p.Last + 1))
		p.Last++
		if err := b.known(n.BlockedBy); err != nil {
			return err
		}
		return p.add(id, n.BlockedBy)
	})
	if err != nil {
		return Task{}, err
	}
	now := time.Now()
	return b.write(ctx, Task{
		ID: id, Subject: n.Subject, Description: n.Description, ActiveForm: n.ActiveForm, Status: Pending,
		Writes: n.Writes, Metadata: n.Metadata, Owner: n.Owner, Author: by.Name, Created: now, Changed: now,
	}, 0)
}

func (b *Board) known(ids []ID) error {
	for _, id := range ids {
		if _, err := b.Get(id); err != nil {
			return err
		}
	}
	return nil
}

// Wait makes a task wait for others on the board.
func (b *Board) Wait(ctx context.Context, id ID, others []ID) error {
	if err := b.known(append([]ID{id}, others...)); err != nil {
		return err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	return b.changePlan(ctx, func(p *plan) error { return p.add(id, others) })
}

// Change changes a task in the name of a member: f gets a copy, and the board writes the
// result unless the task has changed meanwhile; then f is called again with the newer task.
// f must not change the claim.
func (b *Board) Change(ctx context.Context, id ID, f func(*Task) error) (Task, error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	for {
		old, err := b.latest(id)
		if err != nil {
			return Task{}, err
		}
		t := old.task.clone()
		if err := f(&t); err != nil {
			return Task{}, err
		}
		t.Changed = time.Now()
		t, err = b.write(ctx, t, old.rev)
		if !errors.Is(err, ErrConflict) {
			return t, err
		}
		if err := b.refresh(ctx, taskKey(id)); err != nil {
			return Task{}, err
		}
	}
}

func (b *Board) latest(id ID) (entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.tasks[id]
	if !ok || e.task.Status == Deleted {
		return entry{}, &UnknownError{ID: id}
	}
	e.task = b.whole(e.task)
	return e, nil
}

// write writes a task to the store and applies it.
func (b *Board) write(ctx context.Context, t Task, rev uint64) (Task, error) {
	t.BlockedBy, t.Blocks = nil, nil // are in the plan
	raw, err := json.Marshal(t)
	if err != nil {
		return Task{}, fmt.Errorf("board: encode task %s: %w", t.ID, err)
	}
	rev, err = b.store.Put(ctx, taskKey(t.ID), raw, rev)
	if err != nil {
		return Task{}, err
	}
	b.see(Entry{Key: taskKey(t.ID), Value: raw, Revision: rev})
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.whole(t), nil
}

func (b *Board) changePlan(ctx context.Context, f func(*plan) error) error {
	for {
		b.mu.Lock()
		p, rev := b.plan.clone(), b.rev
		b.mu.Unlock()
		if err := f(&p); err != nil {
			return err
		}
		raw, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("board: encode the plan: %w", err)
		}
		switch rev, err = b.store.Put(ctx, planKey, raw, rev); {
		case err == nil:
			b.see(Entry{Key: planKey, Value: raw, Revision: rev})
			return nil
		case !errors.Is(err, ErrConflict):
			return err
		}
		if err := b.refresh(ctx, planKey); err != nil {
			return err
		}
	}
}

// refresh applies a change of another process before the watch does.
func (b *Board) refresh(ctx context.Context, key string) error {
	e, err := b.store.Get(ctx, key)
	if err != nil {
		return err
	}
	if e.Revision > 0 {
		b.see(e)
	}
	return ctx.Err()
}
