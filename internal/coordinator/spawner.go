package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// spawner starts agents for the calls of one agent.
type spawner struct {
	h    *host
	spec agent.Spec
}

var _ tools.Spawner = spawner{}

// Types returns the agent types that a call may name.
func (s spawner) Types() []defs.Definition {
	types := s.h.c.opts.Definitions().Active
	if len(s.spec.Only) == 0 {
		return types
	}
	limits := permission.Policy{Mode: permission.Bypass, Only: tools.Limits(s.spec)}
	return slices.DeleteFunc(slices.Clone(types), func(d defs.Definition) bool {
		return permission.Decide(limits, permission.Request{Tool: "Agent", Input: report.Detail(map[string]string{"subagent_type": d.Name})}).Behavior == permission.Deny
	})
}

// Team returns the name of the team in which an agent works.
func (s spawner) Team(spec agent.Spec) string { return s.h.c.Home(spec).Name }

// Transcript returns the file with an agent's transcript, and whether the caller can
// read files.
func (s spawner) Transcript(id mailbox.AgentID) (path string, canRead bool) {
	tools := s.h.t.Spec().Tools
	return s.h.c.opts.Store.TranscriptPath(id), slices.Contains(tools, "Read") || slices.Contains(tools, "Bash")
}

// Made returns the agent that a call has started or woken before a crash, if it has,
// with its task.
func (s spawner) Made(callID, task string) (agent.Spec, bool, error) {
	id, ok := s.h.c.MadeBy(s.h.t.ID(), s.h.t.Record().Steps, callID)
	if !ok {
		return agent.Spec{}, false, nil
	}
	t, err := s.h.c.transcript(id)
	if err != nil {
		return agent.Spec{}, true, err
	}
	err = s.h.c.FinishSpawn(s.h.t, t, callID, task)
	return t.Spec(), true, err
}

// Start starts the agent that a call describes, or wakes the one that it resumes.
func (s spawner) Start(ctx context.Context, callID string, call spawn.Call) (agent.Spec, error) {
	start := s.spawn
	if call.Resume != "" {
		start = s.resume
	}
	id, err := start(ctx, callID, call)
	if err != nil {
		return agent.Spec{}, err
	}
	t, err := s.h.c.transcript(id)
	if err != nil {
		return agent.Spec{}, err
	}
	return t.Spec(), nil
}

func (s spawner) spawn(ctx context.Context, callID string, call spawn.Call) (mailbox.AgentID, error) {
	c := s.h.c
	spec, def, err := c.plan(ctx, s.h.t.Spec(), call)
	if err != nil {
		return "", err
	}
	spec.Call, spec.Answer = callID, s.h.t.Record().Steps
	if spec.Isolation != "" {
		done, err := c.isolate(&spec)
		if err != nil {
			return "", err
		}
		defer done()
	}
	if spec.Fork {
		err = c.fork(c.scope, s.h.t, spec, call.Prompt)
	} else {
		scope := c.scope
		if spec.Where != "" {
			scope = ctx // no host runs in it, so the caller may give up the wait
		}
		c.planned.put(spec.ID, def)
		if _, err = c.Spawn(scope, spec, call.Prompt); err != nil {
			c.definition(spec) // no turn will take it
		}
	}
	return spec.ID, err
}

// plan returns the agent that a call of parent makes, and waits until it may be made.
func (c *Coordinator) plan(ctx context.Context, parent agent.Spec, call spawn.Call) (agent.Spec, defs.Definition, error) {
	plan, err := c.opts.Policy.Plan(c.opts.Definitions(), call, parent, c.ToolNames())
	if err != nil {
		return plan.Spec, plan.Definition, err
	}
	if err := c.opts.Policy.CheckDir(plan.Spec.Dir, parent.Dir); err != nil {
		return plan.Spec, plan.Definition, err
	}
	if err := c.admitSpawn(ctx, plan.Spec); err != nil {
		return plan.Spec, plan.Definition, err
	}
	plan.Spec.ID, plan.Spec.Born = c.NewID(cmp.Or(plan.Spec.Name, plan.Spec.Type)), time.Now()
	return plan.Spec, plan.Definition, nil
}

// Await waits until a foreground child has ended, or continues in the background.
// When the wait is cancelled the child is stopped with the same cause and waited
// for: it does not outlive its call, unless its parent only has something else
// to do first.
func (s spawner) Await(ctx context.Context, id mailbox.AgentID) (r agent.Record, moved bool, err error) {
	child, err := s.h.c.transcript(id)
	if err != nil {
		return r, false, err
	}
	err = s.h.waitForChild(ctx, func() (err error) {
		r, err = s.h.c.awaitInForeground(ctx, child)
		return err
	})
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errMoved):
		return child.Record(), true, nil
	case err == nil, cause == nil:
		return r, false, err
	case errors.Is(cause, turn.ErrShutdown):
		return r, false, cause // the child's turn stays open like the parent's
	case errors.Is(cause, turn.ErrPreempted):
		return s.moveToBackground(child)
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.h.c.Stop(wait, id, turn.StoppedWith(agent.DisplayName(s.h.t.Spec()), cause)); err != nil {
		return r, false, &tools.StuckError{ID: id, Err: err}
	}
	return child.Record(), false, nil
}

// moveToBackground lets a child that was waited for go on in the background, unless
// it has ended meanwhile.
func (s spawner) moveToBackground(child *transcript.Transcript) (r agent.Record, moved bool, err error) {
	err = child.MoveTo(agent.Background)
	if errors.Is(err, transcript.ErrTurnEnded) {
		r, err = s.h.c.Await(s.h.turnContext, child.ID())
		return r, false, err
	}
	return child.Record(), err == nil, err
}

// resume wakes an agent that has ended, with a new prompt. Its end is reported to the
// caller alone: as the result of the call, or by message.
func (s spawner) resume(ctx context.Context, callID string, call spawn.Call) (mailbox.AgentID, error) {
	c, me := s.h.c, s.h.t
	if err := call.CheckResume(me.Spec()); err != nil {
		return "", err
	}
	t, ok := c.Find(call.Resume)
	if !ok || !t.Spec().Role.IsAgent() {
		return "", c.registry.Unknown(call.Resume)
	}
	spec := t.Spec()
	if c.registry.IsBelow(me.ID(), spec.ID) {
		return "", fmt.Errorf("%s is not an agent that you can go on with: end your turn instead", agent.DisplayName(spec))
	}
	role, err := c.opts.Policy.Resume(c.opts.Definitions(), call, spec)
	if err != nil {
		return "", err
	}
	if err := c.admitSpawn(ctx, spec); err != nil {
		return "", err
	}
	w := agent.Waking{By: me.ID(), Answer: me.Record().Steps, Call: callID}
	if err := c.reopenByCall(t, role, w); err != nil {
		return "", err
	}
	if err := t.Prompt("parent", call.Prompt); err != nil {
		return "", fmt.Errorf("%s could not go on: %w", agent.DisplayName(spec), err)
	}
	c.publish(t, event.Started{
		Model: spec.Model, Task: cmp.Or(call.Description, spec.Description), Prompt: call.Prompt, Background: t.Spec().Role == agent.Background, Resumed: true,
	})
	c.Wake(t.ID())
	return t.ID(), nil
}
