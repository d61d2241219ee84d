package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
	"golang.org/x/sync/errgroup"
)

const defaultParallel = 10

// runCalls gives every call of the newest answer a result. Neighbouring calls of parallel
// tools run together; every other call waits for those before it.
func (t *Turn) runCalls(ctx context.Context) error {
	calls, err := t.Log.Calls()
	if err != nil {
		return err
	}
	if err := t.refuseExcess(calls); err != nil {
		return err
	}
	for len(calls) > 0 {
		n := t.batch(calls)
		if err := t.runBatch(ctx, calls[:n]); err != nil {
			return err
		}
		calls = calls[n:]
	}
	t.batched(ctx)
	return nil
}

// refuseExcess refuses the calls that are more than their tool takes of one answer.
func (t *Turn) refuseExcess(calls []transcript.CallState) error {
	made := map[string]int{}
	for i, c := range calls {
		spec := t.specOf(c.Name)
		if made[spec.Name]++; spec.PerAnswer == 0 || made[spec.Name] <= spec.PerAnswer || c.Done || c.Started {
			continue
		}
		refused := tool.Errorf("one answer makes at most %d calls of %s, and this one was not made: make it in a later answer", spec.PerAnswer, spec.Name)
		if err := t.finish(c.Call, refused, spec, 0); err != nil {
			return err
		}
		calls[i].Done = true
	}
	return nil
}

// batch returns how many of the leading calls may run together, at least one.
func (t *Turn) batch(calls []transcript.CallState) int {
	n := 0
	for n < len(calls) && t.specOf(calls[n].Name).Parallel {
		n++
	}
	return max(n, 1)
}

func (t *Turn) specOf(name string) tool.Spec {
	if t.Tools == nil {
		return tool.Spec{}
	}
	if u, ok := t.Tools.Lookup(name); ok {
		return u.Spec()
	}
	return tool.Spec{}
}

func (t *Turn) runBatch(ctx context.Context, calls []transcript.CallState) error {
	limit := t.MaxParallel
	if limit == 0 {
		limit = defaultParallel
	}
	// The limit is for reading, which loads this process; other parallel tools have
	// limits of their own.
	readers := make(chan struct{}, limit)
	var group errgroup.Group
	for _, c := range calls {
		if c.Done {
			continue
		}
		if len(calls) == 1 {
			return t.runCall(ctx, c, readers)
		}
		group.Go(func() error { return t.runCall(ctx, c, readers) })
	}
	return group.Wait()
}

// runCall takes one tool call from its permission to its recorded result.
func (t *Turn) runCall(ctx context.Context, c transcript.CallState, readers chan struct{}) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	unit, spec, known := t.lookup(c.Name)
	if !known {
		return t.finish(c.Call, tool.Errorf("this agent has no tools"), spec, 0)
	}
	if unit == nil {
		return t.finish(c.Call, t.Tools.Unknown(c.Name), spec, 0)
	}
	if c.Started && !spec.ReadOnly && !spec.Recorded {
		return t.finish(c.Call, withNote(inDoubt(c.Name), c.Consent.Note), spec, 0)
	}
	v, err := t.permit(ctx, spec, c.Call)
	if err != nil {
		return err
	}
	if v.Behavior != permission.Allow {
		t.Emit(event.Denied{Call: c.Call, Rule: v.Rule, Reason: v.reason()})
		return t.finish(c.Call, tool.Errorf("permission denied%s", v.refusal()), spec, 0)
	}
	if spec.ReadOnly { // after the permission: a call that waits for a person holds no place
		select {
		case readers <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-readers }()
	}
	if v.Input != nil {
		c.Input = v.Input
	}
	return t.perform(ctx, unit, c, v)
}

// perform runs a permitted call and records its result.
func (t *Turn) perform(ctx context.Context, unit tool.Tool, c transcript.CallState, v Verdict) error {
	spec := unit.Spec()
	repeatable := spec.ReadOnly || spec.Recorded
	if !c.Started {
		if err := t.Log.StartCall(c.ID, !repeatable); err != nil {
			return err
		}
	}
	t.Emit(event.CallStarted{Call: c.Call})
	begun := time.Now()
	result, err := runWithTimeout(ctx, unit, tool.Call{
		ID: c.ID, Name: c.Name, Input: c.Input, Profile: string(v.Profile), Paths: v.Paths,
	})
	switch {
	case err != nil:
		return err
	case repeatable && errors.Is(context.Cause(ctx), ErrShutdown):
		return context.Cause(ctx) // it runs again, or continues, after the restart
	}
	if preempted(ctx) {
		result.Text += "\n(a control message came while this call ran: it may have been cut short)"
	}
	took := time.Since(begun)
	result = t.called(ctx, c.Call, Added(result, v.Context), took)
	return t.finish(c.Call, withNote(result, v.Note), spec, took)
}

func (t *Turn) lookup(name string) (unit tool.Tool, spec tool.Spec, hasTools bool) {
	if t.Tools == nil || len(t.Tools.All()) == 0 {
		return nil, tool.Spec{}, false
	}
	if unit, ok := t.Tools.Lookup(name); ok {
		return unit, unit.Spec(), true
	}
	return nil, tool.Spec{}, true
}

func inDoubt(name string) tool.Result {
	return tool.Errorf("in doubt: this %s call was started before a crash and its result was lost. "+
		"It may have taken effect, wholly or in part, or not at all. It was not run again: check before you repeat it.", name)
}

func (t *Turn) finish(c model.Call, r tool.Result, spec tool.Spec, took time.Duration) error {
	result := transcript.CallResult{Text: r.Text, IsError: r.IsError, Detail: r.Detail, Took: took}
	if result.Text == "" {
		result.Text = "(no output)"
	}
	if err := t.Log.FinishCall(c.ID, result, !spec.ReadOnly && !spec.Recorded); err != nil {
		return err
	}
	t.finishing.Lock()
	t.finished = append(t.finished, Finished{c, result.Text})
	t.finishing.Unlock()
	t.Emit(event.CallFinished{Call: c, Text: result.Text, IsError: r.IsError, Detail: r.Detail, Took: took})
	return nil
}

// stopTimeout is how long a call may take to return after its context has ended. It exceeds
// the second that a tool has.
const stopTimeout = 1500 * time.Millisecond

// runWithTimeout is run for tools that may ignore their context: it abandons the call after
// stopTimeout and drops its result. It waits for the runtime's own tools, since they wait
// for agents that obey.
func runWithTimeout(ctx context.Context, unit tool.Tool, c tool.Call) (tool.Result, error) {
	if unit.Spec().Recorded {
		return run(ctx, unit, c)
	}
	type outcome struct {
		result tool.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := run(ctx, unit, c)
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	last := time.NewTimer(stopTimeout)
	defer last.Stop()
	select {
	case o := <-done:
		return o.result, o.err
	case <-last.C:
		return tool.Errorf("the tool %s did not stop when it was told to and was left alone: what it was doing may still happen", c.Name), nil
	}
}

// run calls the tool and turns a panic of its code into a result, so that one
// broken tool does not end the agent.
func run(ctx context.Context, unit tool.Tool, c tool.Call) (r tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = tool.Errorf("the tool %s crashed: %v\n%s", c.Name, p, firstLines(debug.Stack(), 12)), nil
		}
	}()
	r, err = unit.Run(ctx, c)
	if err != nil && context.Cause(ctx) == nil {
		err = fmt.Errorf("tool %s: %w", c.Name, err)
	}
	return r, err
}

func firstLines(text []byte, n int) []byte {
	for i, b := range text {
		if b == '\n' {
			if n--; n == 0 {
				return text[:i]
			}
		}
	}
	return text
}
