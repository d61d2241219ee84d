// Package turnhook connects the hooks of people with the turns of one agent: it is the
// turn.Hooks of that agent, and comes first where its calls are decided.
//
//	r := turnhook.New(turnhook.Options{Hooks: hooks, Agent: transcript, Policy: policy, Pause: pause, Context: turnContext})
//	verdict, err := r.Permit(ctx, spec, call, decide) // decide judges by rules
//	t := turn.Turn{Hooks: r, StopAfterCalls: r.StopReason}
//
// Laws:
//
//   - A hook denies a call before any rule is asked, and an allow of hooks overrides no
//     rule that denies or asks (TestHooksComeFirstAndRulesStay).
//   - Rules judge the input that hooks have put in place
//     (TestRulesJudgeTheInputOfHooks).
//   - A hook replaces a result by a text, or by what has the form of the result
//     (TestAHookReplacesAResult).
package turnhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Agent is the agent whose turns they are; a *transcript.Transcript is one.
type Agent interface {
	Spec() agent.Spec
	Prompt(origin, text string) error
	Calls() ([]transcript.CallState, error)
}

// Options configure New. All are required.
type Options struct {
	Hooks  *agenthook.Hooks
	Agent  Agent
	Policy func() permission.Policy // by which the agent's calls are decided
	// Pause stops the deadlines of the turn until resume is called.
	Pause func() (resume func())
	// Context returns the context of the turn that runs.
	Context func() context.Context
}

// Runner runs the hooks of one agent. Its methods may be called from any goroutine.
type Runner struct {
	o          Options
	stopReason atomic.Pointer[string]
}

// New returns the hooks of an agent.
func New(o Options) *Runner { return &Runner{o: o} }

// preToolUse is who decided about a call, for messages.
const preToolUse = "a PreToolUse hook"

// byHook is the origin of prompts that hooks give.
const byHook = "hook"

// run runs hooks while the deadlines of the turn stand still. The error is why ctx ended.
func (r *Runner) run(ctx context.Context, run func(*agenthook.Hooks, agent.Spec)) error {
	defer r.o.Pause()()
	run(r.o.Hooks, r.o.Agent.Spec())
	return context.Cause(ctx)
}

// StopReason takes the reason for which a hook wants the turn to end, or "".
func (r *Runner) StopReason() string {
	if why := r.stopReason.Swap(nil); why != nil {
		return "a hook has ended the turn: " + *why
	}
	return ""
}

// Begin runs the hooks of an agent that begins to work.
func (r *Runner) Begin(ctx context.Context) (err error) {
	if r.o.Agent.Spec().Role == agent.Lead {
		return nil
	}
	var e agenthook.Effect
	if err := r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { e = h.SubagentStart(ctx, s) }); err != nil {
		return err
	}
	if len(e.Context) == 0 {
		return nil
	}
	return r.o.Agent.Prompt(byHook, turn.Reminder(e.Context))
}

// Called implements turn.Hooks. A control message does not cut these hooks.
func (r *Runner) Called(_ context.Context, c model.Call, result tool.Result, took time.Duration) tool.Result {
	ctx, failure := r.o.Context(), ""
	if context.Cause(ctx) != nil {
		return result
	}
	if result.IsError {
		failure = cmp.Or(result.Text, "the call failed")
	}
	var response any = result.Text
	if len(result.Detail) > 0 {
		response = result.Detail
	}
	var e agenthook.Effect
	_ = r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) {
		e = h.PostToolUse(ctx, s, r.call(c), response, failure, took)
	})
	texts := e.Context
	for _, text := range []string{e.Reason, e.Stop} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	r.stopReason.CompareAndSwap(nil, nonEmpty(e.Stop))
	return turn.Added(replaced(result, e.Output), texts)
}

// replaced puts what a hook gives in place of a result. It must have the form of what the
// hook was given, or be a text.
func replaced(r tool.Result, output json.RawMessage) tool.Result {
	var text string
	switch {
	case json.Unmarshal(output, &text) == nil:
		r.Text = text
	case len(r.Detail) > 0 && len(output) > 0 && output[0] == r.Detail[0]:
		r.Text, r.Detail = string(output), output
	}
	return r
}

// Batched implements turn.Hooks. A control message does not cut these hooks.
func (r *Runner) Batched(_ context.Context, all []turn.Finished) {
	ctx := r.o.Context()
	calls := make([]agenthook.Batched, len(all))
	for i, c := range all {
		calls[i] = agenthook.Batched{Name: c.Name, Input: c.Input, ID: c.ID, Response: c.Result}
	}
	var e agenthook.Effect
	if r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { e = h.PostToolBatch(ctx, s, calls) }) != nil {
		return
	}
	r.stopReason.CompareAndSwap(nil, nonEmpty(cmp.Or(e.Stop, e.Reason)))
	if text := turn.Reminder(e.Context); text != "" {
		if err := r.o.Agent.Prompt(byHook, text); err != nil {
			r.stopReason.CompareAndSwap(nil, nonEmpty(err.Error()))
		}
	}
}

// Failed implements turn.Hooks.
func (r *Runner) Failed(ctx context.Context, cause error) {
	_ = r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { h.StopFailure(ctx, s, cause) })
}

// Stopping implements turn.Hooks.
func (r *Runner) Stopping(ctx context.Context, text string, before int) (proceed bool, err error) {
	var e agenthook.Effect
	err = r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) {
		e = h.Stop(ctx, s, text, before > 0)
		if s.Role == agent.Teammate && !e.Blocked && e.Stop == "" {
			e = h.TeammateIdle(ctx, s, teamOf(s))
		}
	})
	if err != nil || !e.Blocked && len(e.Context) == 0 || e.Stop != "" {
		return false, err
	}
	said := strings.Join(append(e.Context, e.Reason), "\n")
	return true, r.o.Agent.Prompt(byHook, "A hook wants you to go on before you end: "+turn.Escape(strings.TrimSpace(said)))
}

// Compacting implements turn.Hooks.
func (r *Runner) Compacting(ctx context.Context, why transcript.Trigger) error {
	var e agenthook.Effect
	err := r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { e = h.PreCompact(ctx, s, triggerOf(why)) })
	if err == nil && (e.Blocked || e.Stop != "") {
		return fmt.Errorf("%w: %s", turn.ErrBlocked, cmp.Or(e.Reason, e.Stop))
	}
	return err
}

// Compacted implements turn.Hooks.
func (r *Runner) Compacted(ctx context.Context, why transcript.Trigger, summary string) {
	_ = r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { h.PostCompact(ctx, s, triggerOf(why), summary) })
}

// teamOf is the name of the team that an agent works in.
func teamOf(s agent.Spec) string {
	if len(s.Teams) == 0 {
		return ""
	}
	return cmp.Or(s.Teams[0].Name, s.Teams[0].Team)
}

// triggerOf is what hooks call the reason of a compaction.
func triggerOf(why transcript.Trigger) string {
	if why == transcript.Manual {
		return "manual"
	}
	return "auto"
}

// call is a call as hooks see it.
func (r *Runner) call(c model.Call) agenthook.Call {
	return agenthook.Call{ID: c.ID, Name: c.Name, Input: c.Input, Covers: func(rule string) bool { return r.covers(rule, c) }}
}

// covers reports whether a permission rule covers a call, as a deny rule would. A
// command that cannot be parsed may be covered by any rule.
func (r *Runner) covers(text string, c model.Call) bool {
	rule, err := permission.ParseRule(text)
	if err != nil {
		return true // the hook decides itself
	}
	policy := r.o.Policy()
	d := permission.Decide(
		permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{rule}, Dirs: policy.Dirs, Home: policy.Home, Resolve: policy.Resolve},
		permission.Request{Tool: c.Name, Input: c.Input, Cwd: r.o.Agent.Spec().Dir},
	)
	return d.Behavior == permission.Deny || d.Rule == "unparsable command"
}

// Decide decides about a call by mode and rules, given the results of hooks.
type Decide func(ctx context.Context, spec tool.Spec, c model.Call, pre agenthook.Decision) (turn.Verdict, error)

// Permit runs the hooks before a call is decided, and has decide judge what they have
// made of it.
func (r *Runner) Permit(ctx context.Context, spec tool.Spec, c model.Call, decide Decide) (turn.Verdict, error) {
	c.Name = spec.Name
	var pre agenthook.Decision
	err := r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { pre = h.PreToolUse(ctx, s, r.call(c)) })
	r.stopReason.CompareAndSwap(nil, nonEmpty(pre.Stop))
	if err != nil || pre.Behavior == agenthook.Deny {
		return turn.Verdict{Decision: permission.Decision{Rule: preToolUse, Reason: pre.Reason}}, err
	}
	if pre.Deferred && r.isOnly(c.ID) && r.o.Hooks.Defer(r.o.Agent.Spec(), r.call(c)) {
		<-ctx.Done()
		return turn.Verdict{}, context.Cause(ctx)
	}
	if pre.Input != nil {
		c.Input = pre.Input
	}
	v, err := decide(ctx, spec, c, pre)
	if v.Input == nil {
		v.Input = pre.Input
	}
	v.Context = slices.Concat(pre.Context, v.Context)
	return v, err
}

// isOnly reports whether a call is the only one of its answer.
func (r *Runner) isOnly(id string) bool {
	calls, err := r.o.Agent.Calls()
	return err == nil && len(calls) == 1 && calls[0].ID == id
}

// Judge decides about a request by a policy. An allow or ask of hooks is a rule for this
// call, so no rule that is stricter is overridden.
func Judge(policy permission.Policy, request permission.Request, pre agenthook.Decision) permission.Decision {
	rule := permission.Rule{Tool: request.Tool, Source: preToolUse, ForCall: true}
	switch pre.Behavior {
	case agenthook.Allow:
		policy.Allow = append(slices.Clip(policy.Allow), rule)
	case agenthook.Ask:
		policy.Ask = append(slices.Clip(policy.Ask), rule)
	}
	d := permission.Decide(policy, request)
	if pre.Behavior == agenthook.Ask && d.Behavior == permission.Ask {
		d.Reason += ": " + pre.Reason
	}
	return d
}

// PermissionRequest lets hooks answer a question about a call. decided is false if they
// do not. An input that they put in place is held against the deny rules.
func (r *Runner) PermissionRequest(ctx context.Context, request permission.Request, c model.Call) (v turn.Verdict, decided bool, err error) {
	var d agenthook.Decision
	err = r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { d = h.PermissionRequest(ctx, s, r.call(c)) })
	v.Decision = permission.Decision{Rule: "a PermissionRequest hook", Reason: d.Reason}
	if d.Behavior == agenthook.Allow {
		v.Behavior, v.Input = permission.Allow, d.Input
		if d.Input != nil {
			request.Input = d.Input
			if rule := permission.Decide(r.o.Policy(), request); rule.Behavior == permission.Deny {
				v = turn.Verdict{Decision: rule}
			}
		}
	}
	return v, d.Behavior == agenthook.Allow || d.Behavior == agenthook.Deny, err
}

// PermissionDenied runs the hooks after a model has denied a call, and reports whether one
// of them lets the agent try again.
func (r *Runner) PermissionDenied(ctx context.Context, c model.Call, reason string) (retry bool) {
	_ = r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { retry = h.PermissionDenied(ctx, s, r.call(c), reason) })
	return retry
}

func nonEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
