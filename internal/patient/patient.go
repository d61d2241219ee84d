// Package patient asks JetStream again while a cluster has no leader, which a
// killed server makes last for some seconds (TestAskedAgainWhileNobodyLeads).
package patient

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Within is how long a cluster may take to find a leader: elections begin after
// four to nine seconds of silence, and the first may fail.
const Within = 30 * time.Second

// stopsWithin is how long a server that stops says that it has no JetStream.
const stopsWithin = 2 * time.Second

const (
	onceWithin = 5 * time.Second
	pause      = 100 * time.Millisecond
)

// Do calls do until its error is not that nobody answered, until Within is over,
// or ctx ends; where JetStream is off it gives up sooner
// (TestAServerWithoutJetStreamIsNotAskedForLong). Whoever changes something must
// see for itself, when do is called again, whether the change before was made: the
// answer may be what was lost.
func Do(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	begun := time.Now()
	var answer error // the last that was more than silence
	for {
		once, done := context.WithTimeout(ctx, onceWithin)
		err := do(once)
		done()
		switch {
		case err == nil || !Unanswered(err), off(err) && time.Since(begun) >= stopsWithin:
			return err
		case errors.Is(err, context.DeadlineExceeded):
			err = cmp.Or(answer, err)
		default:
			answer = err
		}
		if ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

func off(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// Unanswered reports an error that says nothing but that no leader answered. What
// was asked for may have been done.
func Unanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.As(err, &api) && api.Code == 503
}
