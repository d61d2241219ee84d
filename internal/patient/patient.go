// Package patient asks JetStream again while a cluster has no leader, which a
// killed server makes last for some seconds (TestAskedAgainWhileNobodyLeads).
package patient

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Within is how long a cluster may take to find a leader: elections begin after
// four to nine seconds of silence, and the first may fail.
const Within = 30 * time.Second

const (
	onceWithin = 5 * time.Second
	pause      = 100 * time.Millisecond
)

// Do calls do until its error is not that nobody answered, until Within is over,
// or ctx ends. Whoever changes something must see for itself, when do is called
// again, whether the change before was made: the answer may be what was lost.
func Do(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	for {
		once, done := context.WithTimeout(ctx, onceWithin)
		err := do(once)
		done()
		if err == nil || !Unanswered(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Unanswered reports an error that says nothing but that no leader answered. What
// was asked for may have been done.
func Unanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.As(err, &api) && api.Code == 503
}
