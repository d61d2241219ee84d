package board

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNothingFree is the error of Next if no task can be claimed now.
var ErrNothingFree = errors.New("no task is free that you can do")

// UnknownError reports a task that is not on the board.
type UnknownError struct{ ID ID }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no task %q on the list", string(e.ID))
}

// TakenError reports a claim of a task that another member has.
type TakenError struct {
	ID    ID
	Owner string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("task %s belongs to %s: take another, or write to %[2]s", e.ID, e.Owner)
}

// BlockedError reports a claim of a task whose blockers are not done.
type BlockedError struct {
	ID ID
	By []ID
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("task %s waits for task %s: take another first", e.ID, join(e.By))
}

// LostError reports a change by a member that does not have the claim, or no longer has it.
type LostError struct {
	ID    ID
	Owner string // of the claim; "" is none
}

func (e *LostError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("task %s is not yours: claim it first", e.ID)
	}
	return fmt.Sprintf("task %s is not yours, %s works on it: nothing was changed", e.ID, e.Owner)
}

// SupersededError reports a change in the name of an incarnation of an agent that
// has a later one.
type SupersededError struct{ Name string }

func (e *SupersededError) Error() string {
	return fmt.Sprintf("another process works as %s now: nothing was changed", e.Name)
}

// UnfitError reports a writing task for a member without writing tools.
type UnfitError struct {
	ID   ID
	Name string
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("task %s changes files and %s has no tool for that: leave it to another", e.ID, e.Name)
}

// CycleError reports dependencies that would make a task wait for itself.
type CycleError struct{ Path []ID }

func (e *CycleError) Error() string {
	return fmt.Sprintf("task %s would wait for itself: %s", e.Path[0], join(e.Path))
}

func join(ids []ID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ", ")
}
