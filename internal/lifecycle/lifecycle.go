// Package lifecycle stops what was started, in the opposite order.
//
//	var parts lifecycle.Stack
//	parts.Push("the journal", func(context.Context) error { return journal.Close() })
//	parts.Push("the agents", agents.Shutdown)
//	…
//	err := parts.Stop(ctx) // the agents, then the journal
//
// The law:
//
//   - What was pushed last is stopped first, each step once, and a step that fails
//     keeps no other from its stop (TestAStackStopsBackwardsAndNamesWhatFailed).
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Stack is what was started and is to be stopped, in order. Each step of a start
// pushes its stop; a start that fails half way leaves what it has pushed. The zero
// value is ready. It is for one goroutine.
type Stack struct{ steps []step }

type step struct {
	name string
	stop func(context.Context) error
}

// Push adds a step, which is stopped before those that were pushed earlier. The name
// goes on after "stop".
func (s *Stack) Push(name string, stop func(context.Context) error) {
	s.steps = append(s.steps, step{name, stop})
}

// Stop stops every step, the last first, and joins their errors. A step that fails, or
// takes longer than ctx lasts, keeps none of the others from their stop.
func (s *Stack) Stop(ctx context.Context) error {
	var errs []error
	for len(s.steps) > 0 {
		last := s.steps[len(s.steps)-1]
		s.steps = s.steps[:len(s.steps)-1]
		if err := last.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}

// Names returns what would be stopped, in that order.
func (s *Stack) Names() (names []string) {
	for _, step := range slices.Backward(s.steps) {
		names = append(names, step.name)
	}
	return names
}
