package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/internal/retry"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestAskedAgainWhileNobodyLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, calls := time.Now(), 0
		err := retry.Do(t.Context(), func(ctx context.Context) error {
			switch calls++; calls {
			case 1:
				return nats.ErrNoResponders
			case 2:
				<-ctx.Done()
				return ctx.Err()
			case 3:
				return &jetstream.APIError{Code: 503, Description: "JetStream system temporarily unavailable"}
			}
			return nil
		})
		if took := time.Since(begun); err != nil || calls != 4 || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("%d calls in %v: %v", calls, took, err)
		}
		calls = 0
		if err := retry.Do(t.Context(), func(context.Context) error { calls++; return jetstream.ErrKeyExists }); !errors.Is(err, jetstream.ErrKeyExists) || calls != 1 {
			t.Errorf("an answer: %d calls, %v", calls, err)
		}
		begun = time.Now()
		if err := retry.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); err == nil || time.Since(begun) != retry.Within {
			t.Errorf("nobody ever answers: %v after %v", err, time.Since(begun))
		}
	})
}

// A server that stops reports that it has no JetStream; one that continues to report it
// has none.
func TestAServerWithoutJetStreamIsNotAskedForLong(t *testing.T) {
	for _, none := range []error{jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			err := retry.Do(t.Context(), func(context.Context) error { return none })
			if took := time.Since(begun); !errors.Is(err, none) || took < time.Second || took > 3*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
			stops := retry.Do(t.Context(), func(context.Context) error {
				if time.Since(begun) < 4*time.Second {
					return none
				}
				return nil
			})
			if stops != nil {
				t.Errorf("one that was stopping: %v", stops)
			}
		})
	}
}

func TestTheLastAnswerIsTheErrorWhenTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, answer := 0, &jetstream.APIError{Code: 503, Description: "no leader"}
		err := retry.Do(t.Context(), func(ctx context.Context) error {
			if calls++; calls == 1 {
				return answer
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, answer) {
			t.Errorf("the error is %v", err)
		}
	})
}

// A cluster that comes up, or gets a server back, has too few for the copies at first;
// one that is too small has so for good.
func TestServersThatLackAreWaitedForLessLong(t *testing.T) {
	lack := &jetstream.APIError{Code: 400, ErrorCode: 10005, Description: "no suitable peers for placement, peer offline"}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		back := retry.Do(t.Context(), func(context.Context) error {
			if time.Since(begun) < 8*time.Second {
				return lack
			}
			return nil
		})
		if back != nil {
			t.Errorf("one that came back: %v", back)
		}
		begun = time.Now()
		err := retry.Do(t.Context(), func(context.Context) error { return lack })
		if took := time.Since(begun); !errors.Is(err, lack) || took < 9*time.Second || took > 11*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
