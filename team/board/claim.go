package board

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// move is Change in the name of a member, which must be the newest incarnation of
// its agent that has acted on the board.
func (b *Board) move(ctx context.Context, by Member, id ID, f func(*Task) error) (Task, error) {
	if err := b.fence(ctx, by); err != nil {
		return Task{}, err
	}
	return b.Change(ctx, id, f)
}

// fence records a new incarnation, and refuses one that is not the newest. It reads the
// store, since a process that was suspended while another replaced it has not seen the
// newer one.
func (b *Board) fence(ctx context.Context, by Member) error {
	if by.Address.Agent == "" {
		return nil
	}
	for {
		e, err := b.store.Get(ctx, newestKey(by.Address.Agent))
		if err != nil {
			return err
		}
		newest := uint64(0)
		if e.Revision > 0 {
			if newest, err = strconv.ParseUint(string(e.Value), 10, 32); err != nil {
				return fmt.Errorf("board: read %s: %w", e.Key, err)
			}
		}
		switch mine := uint64(by.Address.Incarnation); {
		case mine == newest:
			return nil
		case mine < newest:
			return &SupersededError{Name: by.Name}
		}
		_, err = b.store.Put(ctx, e.Key, strconv.AppendUint(nil, uint64(by.Address.Incarnation), 10), e.Revision)
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// Claim gives a task to a member. A member that already has it gets a longer lease.
func (b *Board) Claim(ctx context.Context, by Member, id ID) (Task, error) {
	return b.move(ctx, by, id, func(t *Task) error { return b.claim(t, by) })
}

func (b *Board) claim(t *Task, by Member) error {
	switch {
	case t.Status == Completed:
		return &TakenError{ID: t.ID, Owner: t.Owner + ", who has completed it"}
	case t.Claim != nil && !t.Claim.heldBy(by.Address) && time.Now().Before(t.Claim.Until):
		return &TakenError{ID: t.ID, Owner: t.Owner}
	case len(t.BlockedBy) > 0:
		return &BlockedError{ID: t.ID, By: t.BlockedBy}
	case t.Writes && !by.Writes:
		return &UnfitError{ID: t.ID, Name: by.Name}
	case t.Claim == nil && t.Owner != "" && t.Owner != by.Name:
		return &TakenError{ID: t.ID, Owner: t.Owner} // it is assigned to a member that has not begun
	}
	t.Status, t.Owner = InProgress, by.Name
	t.Claim = &Claim{Agent: by.Address.Agent, Incarnation: by.Address.Incarnation, Until: time.Now().Add(b.opts.Lease)}
	return nil
}

// Next claims the free task with the lowest id that the member can do, and tasks assigned
// to it first. The error is ErrNothingFree if there is none.
func (b *Board) Next(ctx context.Context, by Member) (Task, error) {
	if err := b.fence(ctx, by); err != nil {
		return Task{}, err
	}
	for _, mine := range []bool{true, false} {
		for _, t := range b.List() {
			if !t.free() || (t.Owner == by.Name) != mine || t.Owner != "" && !mine || t.Writes && !by.Writes {
				continue
			}
			got, err := b.Change(ctx, t.ID, func(t *Task) error { return b.claim(t, by) })
			if taken := new(TakenError); errors.As(err, &taken) {
				continue // another member was faster
			}
			return got, err
		}
	}
	return Task{}, ErrNothingFree
}

// Assign assigns a task to a member without claiming it: the task shows its owner, and no
// other member can claim it. Only the lead may take a task from a member that works on it.
func (b *Board) Assign(ctx context.Context, by, to Member, id ID) (Task, error) {
	return b.move(ctx, by, id, func(t *Task) error {
		switch {
		case t.Status == Completed:
			return &TakenError{ID: t.ID, Owner: t.Owner + ", who has completed it"}
		case t.Claim != nil && !t.Claim.heldBy(by.Address) && !by.Lead:
			return &TakenError{ID: t.ID, Owner: t.Owner}
		case t.Writes && !to.Writes:
			return &UnfitError{ID: t.ID, Name: to.Name}
		case t.Owner == to.Name:
			return nil
		}
		t.Owner, t.Claim, t.Status = to.Name, nil, Pending
		return nil
	})
}

// Finish completes a task. Only the incarnation that has claimed it may do that, or the
// lead for a task without a claim.
func (b *Board) Finish(ctx context.Context, by Member, id ID) (Task, error) {
	return b.move(ctx, by, id, func(t *Task) error {
		if err := mayMove(*t, by); err != nil {
			return err
		}
		t.Status, t.Claim = Completed, nil
		return nil
	})
}

// Drop releases a task: it can be claimed again.
func (b *Board) Drop(ctx context.Context, by Member, id ID) (Task, error) {
	return b.move(ctx, by, id, func(t *Task) error {
		if err := mayMove(*t, by); err != nil {
			return err
		}
		t.Status, t.Claim, t.Owner = Pending, nil, ""
		return nil
	})
}

// Delete removes a task from the board. Tasks that waited for it no longer do.
func (b *Board) Delete(ctx context.Context, by Member, id ID) error {
	_, err := b.move(ctx, by, id, func(t *Task) error {
		if t.Claim != nil && !by.Lead && !t.Claim.heldBy(by.Address) {
			return &LostError{ID: t.ID, Owner: t.Owner}
		}
		t.Status, t.Claim = Deleted, nil
		return nil
	})
	return err
}

// mayMove returns an error if a member may not change the status of a task.
func mayMove(t Task, by Member) error {
	switch {
	case t.Claim.heldBy(by.Address):
		return nil
	case t.Claim == nil && (by.Lead || t.Status == Completed && t.Owner == by.Name):
		return nil
	case t.Claim == nil:
		return &LostError{ID: t.ID}
	}
	return &LostError{ID: t.ID, Owner: t.Owner}
}

// Renew renews the claims of living incarnations that have used up half of their lease.
// Call it a few times within a lease.
func (b *Board) Renew(ctx context.Context, lives func(mailbox.Address) bool) error {
	var errs []error
	for _, t := range b.List() {
		if t.Claim != nil && time.Until(t.Claim.Until) < b.opts.Lease/2 && lives(t.Claim.holder()) {
			errs = append(errs, b.renew(ctx, t.Claim.holder(), t.ID))
		}
	}
	return errors.Join(errs...)
}

// Expire offers tasks again whose lease has ended and whose incarnation does not live. Call
// it whenever a lease ends: next is the end of the next lease of such an incarnation, or
// zero.
func (b *Board) Expire(ctx context.Context, lives func(mailbox.Address) bool) (next time.Time, err error) {
	var errs []error
	for _, t := range b.List() {
		switch {
		case t.Claim == nil:
		case time.Now().Before(t.Claim.Until):
			if next.IsZero() || t.Claim.Until.Before(next) {
				next = t.Claim.Until
			}
		case !lives(t.Claim.holder()):
			errs = append(errs, b.revoke(ctx, t.Claim.holder(), t.ID))
		}
	}
	return next, errors.Join(errs...)
}

// Release offers the tasks of an agent that has ended again, without waiting for the end of
// its leases.
func (b *Board) Release(ctx context.Context, agent mailbox.AgentID) error {
	var errs []error
	for _, t := range b.List() {
		if t.Claim != nil && t.Claim.Agent == agent {
			errs = append(errs, b.revoke(ctx, t.Claim.holder(), t.ID))
		}
	}
	return errors.Join(errs...)
}

func (b *Board) renew(ctx context.Context, holder mailbox.Address, id ID) error {
	_, err := b.Change(ctx, id, func(t *Task) error {
		if t.Claim.heldBy(holder) {
			t.Claim.Until = time.Now().Add(b.opts.Lease)
		}
		return nil
	})
	return err
}

func (b *Board) revoke(ctx context.Context, holder mailbox.Address, id ID) error {
	_, err := b.Change(ctx, id, func(t *Task) error {
		if t.Claim.heldBy(holder) {
			t.Status, t.Claim, t.Owner = Pending, nil, ""
		}
		return nil
	})
	return err
}
