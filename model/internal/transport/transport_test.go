package transport

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// watched returns how long a stream lives in which step happens every interval.
func watched(t *testing.T, interval time.Duration, step func(*Watchdog)) (lived time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w := Watch(cancel, 0, 0)
		defer w.Stop()
		begun := time.Now()
		w.OnContent()
		for ctx.Err() == nil && time.Since(begun) < time.Hour {
			select {
			case <-ctx.Done():
			case <-time.After(interval):
				step(w)
			}
		}
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrSilent) {
			t.Errorf("cancelled with %v", context.Cause(ctx))
		}
		lived = time.Since(begun)
	})
	return lived
}

func TestSilenceEndsAStreamAndPingsPutItOff(t *testing.T) {
	for name, c := range map[string]struct {
		interval time.Duration
		step     func(*Watchdog)
		want     time.Duration
	}{
		"silence":       {2 * time.Hour, (*Watchdog).OnContent, DefaultIdle},
		"slow content":  {DefaultIdle - time.Second, (*Watchdog).OnContent, time.Hour},
		"pings only":    {time.Second, (*Watchdog).OnPing, DefaultPing},
		"too few pings": {DefaultIdle + time.Second, (*Watchdog).OnPing, DefaultIdle},
	} {
		if got := watched(t, c.interval, c.step); got < c.want || got > c.want+DefaultIdle {
			t.Errorf("%s: the stream lived %v, want %v", name, got, c.want)
		}
	}
}

func TestAnAnswerMayTakeLongToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := time.Now()
		w := Watch(cancel, 0, 0)
		defer w.Stop()
		<-ctx.Done()
		if got := time.Since(begun); got != DefaultPing {
			t.Errorf("given up after %v, want %v", got, DefaultPing)
		}
	})
}

func TestAddressesAreToldFromOtherText(t *testing.T) {
	for s, want := range map[string]bool{"http://h": true, "https://h:1/v1": true, "ftp://h": false, "h:80": false, "": false, "http://": false, "::": false} {
		if IsAddress(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
	if got := RedactURL("http://user:secret@host/x"); strings.Contains(got, "secret") || !strings.Contains(got, "host") {
		t.Errorf("got %q", got)
	}
}
