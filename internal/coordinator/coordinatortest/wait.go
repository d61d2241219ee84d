package coordinatortest

import (
	"context"
	"testing"
	"time"

	"github.com/actorswarm/swarm/event"
)

// Next returns the first event that fits.
func Next(t testing.TB, sub *event.Subscription, what string, fits func(event.Event) bool) event.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			t.Fatalf("what the test waits for does not come: %s: %v", what, err)
		}
		if fits(e) {
			return e
		}
	}
}

// TurnEnd fits the end of a turn of the agent of a name.
func TurnEnd(name string) func(event.Event) bool {
	return func(e event.Event) bool {
		_, is := e.Fact.(event.TurnEnded)
		return is && e.Agent.Name == name
	}
}

// Eventually waits until something holds that no event reports.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}
