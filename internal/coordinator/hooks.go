package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// preToolUse is who decided about a call, for messages.
const preToolUse = "a PreToolUse hook"

// byHook is the origin of prompts that hooks give.
const byHook = "hook"

// hooks runs the hooks of one agent. It is a turn.Hooks.
type hooks struct{ h *host }

// run runs hooks while the deadlines of the turn stand still. The error is why ctx ended.
func (r hooks) run(ctx context.Context, run func(*agenthook.Hooks, agent.Spec)) error {
	if w := r.h.watchdog; w != nil {
		w.Pause()
		defer w.Resume()
	}
	run(r.h.c.opts.Hooks, r.h.t.Spec())
	return context.Cause(ctx)
}

// begin runs the hooks of an agent that begins to work.
func (r hooks) begin(ctx context.Context) (err error) {
	if r.h.t.Spec().Role == agent.Lead {
		return nil
	}
	var e agenthook.Effect
	if err := r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { e = h.SubagentStart(ctx, s) }); err != nil {
		return err
	}
	if len(e.Context) == 0 {
		return nil
	}
	return r.h.t.Prompt(byHook, turn.Reminder(e.Context))
}

// Called implements turn.Hooks. A control message does not cut these hooks.
func (r hooks) Called(_ context.Context, c model.Call, result tool.Result, took time.Duration) tool.Result {
	ctx, failure := r.h.turnContext, ""
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
	r.h.stopReason.CompareAndSwap(nil, nonEmpty(e.Stop))
	return turn.Added(result, texts)
}

// Stopping implements turn.Hooks.
func (r hooks) Stopping(ctx context.Context, text string, before int) (goOn bool, err error) {
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
	return true, r.h.t.Prompt(byHook, "A hook wants you to go on before you end: "+turn.Escape(strings.TrimSpace(said)))
}

// Compacting implements turn.Hooks.
func (r hooks) Compacting(ctx context.Context, why transcript.Trigger) error {
	var e agenthook.Effect
	err := r.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { e = h.PreCompact(ctx, s, triggerOf(why)) })
	if err == nil && (e.Blocked || e.Stop != "") {
		return fmt.Errorf("%w: %s", turn.ErrBlocked, cmp.Or(e.Reason, e.Stop))
	}
	return err
}

// Compacted implements turn.Hooks.
func (r hooks) Compacted(ctx context.Context, why transcript.Trigger, summary string) {
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

// notify runs the hooks of a notification beside what the agent does.
func (r hooks) notify(kind, message string) {
	r.h.c.work(func() { r.h.c.opts.Hooks.Notification(r.h.c.scope, r.h.t.Spec(), kind, message) })
}

// call is a call as hooks see it.
func (r hooks) call(c model.Call) agenthook.Call {
	return agenthook.Call{ID: c.ID, Name: c.Name, Input: c.Input, Covers: func(rule string) bool { return r.covers(rule, c) }}
}

// covers reports whether a permission rule covers a call, as a deny rule would. A
// command that cannot be parsed may be covered by any rule.
func (r hooks) covers(text string, c model.Call) bool {
	rule, err := permission.ParseRule(text)
	if err != nil {
		return true // the hook decides itself
	}
	policy := r.h.permits.policy()
	d := permission.Decide(
		permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{rule}, Dirs: policy.Dirs, Home: policy.Home, Resolve: policy.Resolve},
		permission.Request{Tool: c.Name, Input: c.Input, Cwd: r.h.t.Spec().Dir},
	)
	return d.Behavior == permission.Deny || d.Rule == "unparsable command"
}

// runPreToolUse runs the hooks before a call is judged.
func (p *permits) runPreToolUse(ctx context.Context, spec tool.Spec, c model.Call) (d agenthook.Decision, err error) {
	c.Name = spec.Name
	err = hooks{p.h}.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { d = h.PreToolUse(ctx, s, hooks{p.h}.call(c)) })
	p.h.stopReason.CompareAndSwap(nil, nonEmpty(d.Stop))
	return d, err
}

// runPermissionRequest lets hooks answer a question about a call. decided is false if
// they do not.
func (p *permits) runPermissionRequest(ctx context.Context, spec tool.Spec, c model.Call) (v turn.Verdict, decided bool, err error) {
	var d agenthook.Decision
	err = hooks{p.h}.run(ctx, func(h *agenthook.Hooks, s agent.Spec) { d = h.PermissionRequest(ctx, s, hooks{p.h}.call(c)) })
	v.Decision = permission.Decision{Rule: "a PermissionRequest hook", Reason: d.Reason}
	if d.Behavior == agenthook.Allow {
		v.Behavior, v.Input = permission.Allow, d.Input
		if d.Input != nil {
			v = p.rejudge(spec, c, d.Input, v)
		}
	}
	return v, d.Behavior == agenthook.Allow || d.Behavior == agenthook.Deny, err
}

// rejudge holds an input that a hook has put in place against the deny rules.
func (p *permits) rejudge(spec tool.Spec, c model.Call, input json.RawMessage, v turn.Verdict) turn.Verdict {
	c.Input = input
	if d := p.judge(spec, c, agenthook.Decision{}); d.Behavior == permission.Deny {
		return turn.Verdict{Decision: d}
	}
	return v
}

func nonEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
