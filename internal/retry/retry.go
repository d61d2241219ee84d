// Package retry repeats a request to JetStream while the cluster cannot answer it.
//
// A server that was killed leaves its cluster without a leader for some seconds. A
// client that gave up then would fail though nothing is wrong:
//
//	err := retry.Do(ctx, func(ctx context.Context) error {
//		_, err := bucket.Put(ctx, key, value)
//		return err
//	})
//
// The function is called again, so it must find out by itself whether a call before
// changed something whose answer was lost; Unanswered reports such errors.
//
// Laws:
//
//   - While nobody leads, the request is repeated, up to Within
//     (TestAskedAgainWhileNobodyLeads).
//   - A cluster that lacks servers for the copies asked for gets less time
//     (TestServersThatLackAreWaitedForLessLong), one without JetStream least
//     (TestAServerWithoutJetStreamIsNotAskedForLong).
package retry

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Within is how long a cluster may take to find a leader: elections begin after
// four to nine seconds of silence, and the first may fail.
const Within = 30 * time.Second

const (
	// stopsWithin is how long a server that stops reports that it has no JetStream.
	stopsWithin = 2 * time.Second
	// returnsWithin is how long servers of a cluster may lack at its start, or when
	// they were started again, before too few for the copies is the answer.
	returnsWithin = 10 * time.Second
)

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
		case err == nil || !Unanswered(err) || time.Since(begun) >= worth(err):
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

// worth is for how long an error that may pass is not taken for the answer.
func worth(err error) time.Duration {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return stopsWithin
	case lacksPeers(err):
		return returnsWithin
	}
	return math.MaxInt64 // ctx ends it
}

// noPeers is JSClusterNoPeersErrF of the server's errors.json: it knows of too few
// servers, or some are away.
const noPeers jetstream.ErrorCode = 10005

func lacksPeers(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == noPeers
}

// Unanswered reports an error that means only that the cluster cannot answer
// now. What was asked for may have been done.
func Unanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.As(err, &api) && api.Code == 503 || lacksPeers(err)
}
