package mailbox

import (
	"context"
	"errors"
	"sync"
)

var errStarted = errors.New("mailbox: started twice")

// lifecycle is the one start and the one end of something that owns goroutines.
type lifecycle struct {
	mu      sync.Mutex
	started bool
	stopped bool
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
}

func (l *lifecycle) start(ctx context.Context) (context.Context, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.stopped:
		return nil, ErrStopped
	case l.started:
		return nil, errStarted
	}
	l.started = true
	ctx, l.cancel = context.WithCancelCause(ctx)
	return ctx, nil
}

// stop cancels the context of what runs. It does not wait, because some goroutines must be
// unblocked before others can be waited for.
func (l *lifecycle) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.cancel != nil {
		l.cancel(ErrStopped)
	}
}
