package swarm

import (
	"context"
	"errors"
	"fmt"
)

// lifecycle is what was started and is to be stopped, in order. Each step of a start
// pushes its stop; a start that fails half way leaves what it has pushed.
type lifecycle struct{ steps []step }

type step struct {
	name string
	stop func(context.Context) error
}

// push adds a step, which is stopped before those that were pushed earlier. The name
// goes on after "stop".
func (l *lifecycle) push(name string, stop func(context.Context) error) {
	l.steps = append(l.steps, step{name, stop})
}

// stop stops every step, the last first, and joins their errors. A step that fails, or
// takes longer than ctx lasts, keeps none of the others from their stop.
func (l *lifecycle) stop(ctx context.Context) error {
	var errs []error
	for len(l.steps) > 0 {
		last := l.steps[len(l.steps)-1]
		l.steps = l.steps[:len(l.steps)-1]
		if err := last.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		}
	}
	return errors.Join(errs...)
}
