package attach

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm"
)

func TestTakeOverFindsTheFirstOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want, tries, begun := new(swarm.Remote), 0, time.Now()
		dial := func(swarm.Info) (*swarm.Remote, error) {
			if time.Since(begun) < time.Second { // somebody else is starting
				return nil, errors.New("nobody answers")
			}
			return want, nil
		}
		serve := func(context.Context, swarm.Info) error {
			tries++
			return errors.New("another process has the journal")
		}
		got, err := TakeOver(t.Context(), swarm.Info{ID: "one"}, dial, serve)
		if err != nil || got != want {
			t.Errorf("TakeOver returned %p, %v; want %p", got, err, want)
		}
		if took := time.Since(begun); tries < 2 || took != time.Second {
			t.Errorf("%d tries in %v, want some in 1s", tries, took)
		}
	})
}

func TestTakeOverGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		none := errors.New("nobody answers")
		_, err := TakeOver(t.Context(), swarm.Info{ID: "one"},
			func(swarm.Info) (*swarm.Remote, error) { return nil, none },
			func(context.Context, swarm.Info) error { return errors.New("the journal is damaged") })
		if !errors.Is(err, none) || !strings.Contains(err.Error(), "the journal is damaged") || !strings.Contains(err.Error(), "session one could not be taken over") {
			t.Errorf("TakeOver returned %v", err)
		}
		if took := time.Since(begun); took != takeOverTimeout {
			t.Errorf("it took %v, want %v", took, takeOverTimeout)
		}
	})
}
