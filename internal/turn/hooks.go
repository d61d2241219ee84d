package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Hooks run what people have attached to points of a turn.
type Hooks interface {
	// Called is called after a call that was run, and may add to its result.
	Called(ctx context.Context, c model.Call, r tool.Result, took time.Duration) tool.Result
	// Batched is called when all calls of an answer have results.
	Batched(ctx context.Context, all []Finished)
	// Failed is called when a failure of the model ends the turn.
	Failed(ctx context.Context, cause error)
	// Stopping is called before the turn ends with an answer. It reports that the turn
	// continues, and has then given the agent a prompt. before is how often it has done so.
	Stopping(ctx context.Context, text string, before int) (proceed bool, err error)
	// Compacting is called before a compaction, which its error prevents; it wraps
	// ErrBlocked.
	Compacting(ctx context.Context, why transcript.Trigger) error
	Compacted(ctx context.Context, why transcript.Trigger, summary string)
}

// Finished is a call with what the model sees of its result.
type Finished struct {
	model.Call
	Result string
}

// batched tells hooks that the calls of an answer have results.
func (t *Turn) batched(ctx context.Context) {
	t.finishing.Lock()
	all := t.finished
	t.finished = nil
	t.finishing.Unlock()
	if t.Hooks != nil && len(all) > 0 && context.Cause(ctx) == nil {
		t.Hooks.Batched(ctx, all)
	}
}

// failed tells hooks of a failure of the model.
func (t *Turn) failed(ctx context.Context, o agent.Outcome, cause error) {
	if t.Hooks != nil && o == agent.Failed && errors.As(cause, new(*model.Error)) {
		t.Hooks.Failed(ctx, cause)
	}
}

// ErrBlocked is why a compaction was not made that a hook has blocked.
var ErrBlocked = errors.New("a hook has blocked the compaction")

// maxStops is how often in a turn hooks may keep it going.
const maxStops = 8

// ends reports whether a turn that is about to end with an answer may do so.
func (t *Turn) ends(ctx context.Context, end *End) (bool, error) {
	if t.Hooks == nil || end.Outcome != agent.Completed {
		return true, nil
	}
	if t.stops >= maxStops {
		end.Reason = fmt.Sprintf("hooks objected to its end %d times, and what they ask for may not be done", t.stops)
		return true, nil
	}
	proceed, err := t.Hooks.Stopping(ctx, end.Text, t.stops)
	if proceed {
		t.stops++
	}
	return !proceed, err
}

// called lets hooks add to the result of a call.
func (t *Turn) called(ctx context.Context, c model.Call, r tool.Result, took time.Duration) tool.Result {
	if t.Hooks == nil {
		return r
	}
	return t.Hooks.Called(ctx, c, r, took)
}

// compactWithHooks makes a compaction unless hooks prevent it.
func (t *Turn) compactWithHooks(ctx context.Context, why transcript.Trigger, make func() (summary string, err error)) error {
	if t.Hooks == nil {
		_, err := make()
		return err
	}
	if err := t.Hooks.Compacting(ctx, why); err != nil {
		return err
	}
	summary, err := make()
	if err == nil {
		t.Hooks.Compacted(ctx, why, summary)
	}
	return err
}

// Added puts what hooks add after a tool's result.
func Added(r tool.Result, texts []string) tool.Result {
	if len(texts) > 0 {
		r.Text += "\n\nA hook adds to this result:\n" + Escape(strings.Join(texts, "\n"))
	}
	return r
}

// Reminder frames what hooks add to a prompt.
func Reminder(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return "<system-reminder>\nA hook adds:\n" + Escape(strings.Join(texts, "\n")) + "\n</system-reminder>"
}
