package coordinator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// resume wakes an agent that has ended, with a new prompt. Its end is told to the
// caller alone: as the result of the call, or by message.
func (a *agentTool) resume(ctx context.Context, callID string, call spawn.Call) (mailbox.AgentID, error) {
	c, me := a.h.c, a.h.t
	if err := call.CheckResume(me.Spec()); err != nil {
		return "", err
	}
	t, ok := c.Find(call.Resume)
	if !ok || !t.Spec().Role.Runs() {
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
	w := agent.Waking{By: me.ID(), Answer: me.Life().Steps, Call: callID}
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

// reopenByCall is Reopen for a tool call, of an agent that must have ended.
func (rv *reviver) reopenByCall(t *transcript.Transcript, r agent.Role, w agent.Waking) error {
	rv.reviving.Lock()
	defer rv.reviving.Unlock()
	if life := t.Life(); !life.Closed {
		return &actors.RunningError{Name: agent.DisplayName(life.Spec)}
	}
	return rv.reopenAs(t, r, w)
}
