// Package lifecycle stops the parts of a program in the opposite order of their start.
//
//	var parts lifecycle.Stack
//	parts.Push("the journal", func(context.Context) error { return journal.Close() })
//	parts.Push("the agents", agents.Shutdown)
//	…
//	err := parts.Stop(ctx) // the agents, then the journal
//
// The law:
//
//   - Steps are stopped once each, the last one first, and a step that fails does not
//     keep others from being stopped (TestStackStopsInReverseAndNamesFailures).
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Stack holds the steps to stop, in order of their start. Each step of a start pushes
// its stop; a start that fails half way leaves the steps that it has pushed. The zero
// value is ready. A Stack is for one goroutine.
type Stack struct{ steps []step }

type step struct {
	name string
	stop func(context.Context) error
}

// Push adds a step, which is stopped before earlier ones. Errors name it after "stop".
func (s *Stack) Push(name string, stop func(context.Context) error) {
	s.steps = append(s.steps, step{name, stop})
}

// Stop stops all steps, the last one first, and joins their errors. It continues after
// a step that fails or takes longer than ctx lasts.
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

// Names returns the names of the steps in the order in which Stop stops them.
func (s *Stack) Names() (names []string) {
	for _, step := range slices.Backward(s.steps) {
		names = append(names, step.name)
	}
	return names
}
