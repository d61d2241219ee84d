package mailbox

import (
	"context"
	"sync"
)

// queue is an unbounded queue for one reader; writers never block.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	more  chan struct{} // one pending signal
}

func newQueue[T any]() *queue[T] {
	return &queue[T]{more: make(chan struct{}, 1)}
}

func (q *queue[T]) put(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	signal(q.more)
}

func (q *queue[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}

// each calls fn with everything put, in order, until ctx ends.
func (q *queue[T]) each(ctx context.Context, fn func(T)) {
	for {
		for _, item := range q.take() {
			if ctx.Err() != nil {
				return
			}
			fn(item)
		}
		select {
		case <-ctx.Done():
			return
		case <-q.more:
		}
	}
}

// signal leaves at most one token in a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
