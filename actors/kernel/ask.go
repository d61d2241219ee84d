package kernel

import (
	"context"
	"fmt"
)

// asked is the envelope of an ask. It never leaves this package.
type asked struct {
	msg    any
	failed *Panic // what its reception ended in; guarded by cell.mu
}

// Ask sends r the message that msg makes around the reply channel, and waits for the
// reply. The channel has room for one value: the actor, or another that it passes the
// channel to, sends exactly once and never blocks. The error is, whichever
// comes first, the *Panic that the message caused in the actor, ErrStopped when
// the actor is gone (a reply sent while it stopped still counts), or the cause of
// ctx.
//
// Ask must not be called inside Receive: there, send the message with Tell, and let the
// other actor answer with a message.
func Ask[T any](ctx context.Context, r Ref, msg func(reply chan<- T) any) (T, error) {
	var none T
	if err := context.Cause(ctx); err != nil {
		return none, askError(r, err)
	}
	reply := make(chan T, 1)
	a := &asked{msg: msg(reply)}
	if r.x == nil || !r.x.post(a, classOf(a)) {
		return none, askError(r, ErrStopped)
	}
	for {
		life, err := r.x.life(a)
		if err != nil {
			select {
			case v := <-reply:
				return v, nil
			default:
				return none, askError(r, err)
			}
		}
		select {
		case v := <-reply:
			return v, nil
		case <-life:
		case <-ctx.Done():
			return none, askError(r, context.Cause(ctx))
		}
	}
}

func askError(r Ref, err error) error {
	return fmt.Errorf("ask actor %q: %w", r.Name(), err)
}

// life returns a channel that is closed when the present behavior of x ends. The error is
// why a can no longer be answered.
func (x *cell) life(a *asked) (<-chan struct{}, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.extraLocked()
	switch {
	case a.failed != nil:
		return nil, a.failed
	case r.ended:
		return nil, ErrStopped
	case r.life == nil:
		r.life = make(chan struct{})
	}
	return r.life, nil
}
