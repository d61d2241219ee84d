package watchdog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
)

// A case of a watchdog is a list of facts, stream events and pauses.
func kind(k model.EventKind) model.Event { return model.Event{Kind: k} }

func backedOff(attempt, status int) model.Event {
	return model.Event{Kind: model.BackingOff, Backoff: &model.Backoff{Attempt: attempt, Status: status}}
}

// watched plays a case and returns when the turn was cut and why.
func watched(t *testing.T, limits agent.Deadlines, steps ...any) (at time.Duration, cause error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cut := context.WithCancelCause(t.Context())
		w := New(limits.For(agent.Background), cut)
		defer w.Stop()
		begun := time.Now()
		forget := context.AfterFunc(ctx, func() { at = time.Since(begun) })
		for _, s := range steps {
			switch s := s.(type) {
			case string:
				w.Begin()
			case event.Fact:
				w.Observe(s, false)
			case model.Event:
				w.Stream(s)
			case time.Duration:
				time.Sleep(s)
			}
		}
		synctest.Wait()
		forget()
		cause = context.Cause(ctx)
		w.Stop()
		time.Sleep(24 * time.Hour) // nothing rings any more
		if late := context.Cause(ctx); !errors.Is(late, cause) {
			t.Errorf("cut after its end: %v", late)
		}
	})
	return at, cause
}

func TestADeadlineEndsWhatStandsStillAndNothingElse(t *testing.T) {
	const s = time.Second
	asked := event.Requested{}
	token := kind(model.TextDelta)
	for _, c := range []struct {
		name  string
		steps []any
		at    time.Duration // 0: it is not cut
		want  string
	}{
		{"no first token", []any{asked, time.Hour}, 10 * s, "no first token for 10s"},
		{"a first token in time", []any{asked, 9 * s, token, 4 * s, kind(model.Finished), time.Hour}, 0, ""},
		{"silence in mid-stream", []any{asked, 9 * s, token, 4 * s, token, time.Hour}, 18 * s, "the answer stood still for 5s"},
		{"growing unseen is progress", []any{asked, token, 4 * s, kind(model.Growing), 4 * s, kind(model.Growing), 4 * s}, 0, ""},
		{"a queue is no silence", []any{asked, kind(model.Queued), time.Hour, kind(model.Sent), 9 * s, token, kind(model.Finished)}, 0, ""},
		{"silence after the queue", []any{asked, kind(model.Queued), time.Minute, kind(model.Sent), time.Hour}, 70 * s, "no first token"},
		{"retries do not begin anew", []any{asked, 6 * s, backedOff(1, 0), 2 * s, kind(model.Sent), time.Hour}, 10 * s, "no first token"},
		{"a back-off on 429 does not count", []any{asked, 6 * s, backedOff(1, 429), time.Minute, kind(model.Sent), time.Hour}, 70 * s, "no first token"},
		{"nor one on 529", []any{asked, backedOff(1, 529), time.Hour, kind(model.Sent), token, kind(model.Finished)}, 0, ""},
		{"nor one for the failure of others", []any{asked, backedOff(0, 0), time.Hour, kind(model.Sent), token, kind(model.Finished)}, 0, ""},
		{"an answer that breaks off begins anew", []any{asked, token, 3 * s, backedOff(1, 0), 6 * s, token, kind(model.Finished), time.Hour}, 0, ""},
		{"what was lost counts", []any{asked, token, 3 * s, backedOff(1, 0), time.Hour}, 10 * s, "no first token"},
		{"a tool hangs", []any{called("a", "Bash"), time.Hour}, 20 * s, "the tool Bash had no result for 20s"},
		{"a tool ends", []any{called("a", "Bash"), 19 * s, answered("a"), time.Hour}, 0, ""},
		{"each call has its own time", []any{called("a", "Read"), 15 * s, called("b", "Grep"), 4 * s, answered("a"), time.Hour}, 35 * s, "the tool Grep"},
		{"a whole turn", []any{"begin", asked, 9 * s, token, kind(model.Finished), called("a", "B"), 19 * s, answered("a"), asked, backedOff(1, 429), time.Hour}, 60 * s, "the turn had no end for 1m0s"},
	} {
		limits := agent.Deadlines{Start: 10 * s, Gap: 5 * s, Tool: 20 * s, Run: time.Minute}
		at, err := watched(t, limits, c.steps...)
		if c.at == 0 {
			if err != nil {
				t.Errorf("%s: cut after %v: %v", c.name, at, err)
			}
			continue
		}
		var timeout *TimeoutError
		if at != c.at || !errors.Is(err, turn.ErrTimedOut) || !errors.As(err, &timeout) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: cut after %v, want %v: %v, want %q", c.name, at, c.at, err, c.want)
		}
	}
}

func TestNoDeadlineIsNone(t *testing.T) {
	off := agent.Deadlines{Start: -1, Gap: -1, Tool: -1, Run: -1}
	if at, err := watched(t, off, "begin", event.Requested{}, kind(model.TextDelta), called("a", "Bash"), 1000*time.Hour); err != nil {
		t.Errorf("cut after %v: %v", at, err)
	}
	if d := (agent.Deadlines{}).For(agent.Lead); d.Run > 0 || d.Start != 5*time.Minute {
		t.Errorf("the lead has %+v", d)
	}
	if d := (agent.Deadlines{Run: time.Minute}).For(agent.Lead); d.Run != time.Minute {
		t.Errorf("the lead has %+v although a limit is given", d)
	}
}

// Whatever a stream does, its clock has counted the times that it ran and no others.
func TestAClockCountsTheTimeItRuns(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var steps []any
		var used, total time.Duration
		running, cut := true, time.Duration(0)
		const limit = 30*time.Second + 500*time.Millisecond // never at the same time as a step
		steps = append(steps, event.Requested{})
		for range rapid.IntRange(1, 20).Draw(r, "steps") {
			d := time.Duration(rapid.IntRange(1, 20).Draw(r, "seconds")) * time.Second
			if running && used+d >= limit && cut == 0 {
				cut = total + limit - used
			}
			if running {
				used += d
			}
			total += d
			steps = append(steps, d)
			switch rapid.SampledFrom([]string{"sent", "limit", "silence", "others"}).Draw(r, "then") {
			case "sent":
				steps, running = append(steps, kind(model.Sent)), true
			case "limit":
				steps, running = append(steps, backedOff(1, 429)), false
			case "silence":
				steps, running = append(steps, backedOff(2, 0)), true
			case "others":
				steps, running = append(steps, backedOff(0, 500)), false
			}
		}
		at, err := watched(t, agent.Deadlines{Start: limit}, steps...)
		if (err != nil) != (cut > 0) || at != cut {
			r.Fatalf("cut after %v (%v), want %v", at, err, cut)
		}
	})
}

func called(id, name string) event.CallStarted {
	return event.CallStarted{Call: model.Call{ID: id, Name: name}}
}

func answered(id string) event.CallFinished { return event.CallFinished{Call: model.Call{ID: id}} }
