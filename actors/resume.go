package actors

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// RunningError reports a call to go on with an agent that has not ended.
type RunningError struct{ Name string }

func (e *RunningError) Error() string {
	return fmt.Sprintf("%s has not ended: write to it with SendMessage", e.Name)
}

// resume wakes an agent that has ended, with a new prompt. Its end is told to the
// caller alone: as the result of the call, or by message.
func (a *agentTool) resume(ctx context.Context, callID string, call SpawnCall) (mailbox.AgentID, error) {
	c, me := a.h.c, a.h.t
	switch {
	case me.Spec().Fork:
		return "", errForkStarts
	case strings.TrimSpace(call.Prompt) == "":
		return "", errNoPrompt
	}
	t, ok := c.Find(call.Resume)
	if !ok || t.Spec().Role == transcript.User {
		return "", c.unknownAgent(call.Resume)
	}
	spec := t.Spec()
	if c.isBelow(me.ID(), spec.ID) {
		return "", fmt.Errorf("%s is not an agent that you can go on with: end your turn instead", DisplayName(spec))
	}
	if err := c.admitSpawn(ctx, spec); err != nil {
		return "", err
	}
	w := transcript.Waking{By: me.ID(), Answer: me.Life().Steps, Call: callID}
	if err := c.wakeByCall(t, c.opts.Policy.resumedRole(spec, call), w); err != nil {
		return "", err
	}
	if err := t.Prompt("parent", call.Prompt); err != nil {
		return "", fmt.Errorf("%s could not go on: %w", DisplayName(spec), err)
	}
	c.publish(t, event.Started{
		Model: spec.Model, Task: first(call.Description, spec.Description), Prompt: call.Prompt, Background: t.Spec().Role == transcript.Background, Resumed: true,
	})
	c.Look(t.ID())
	return t.ID(), nil
}

// wakeByCall is wake for an agent that must have ended.
func (c *Coordinator) wakeByCall(t *transcript.Transcript, r transcript.Role, w transcript.Waking) error {
	c.reviving.Lock()
	defer c.reviving.Unlock()
	if life := t.Life(); !life.Closed {
		return &RunningError{Name: DisplayName(life.Spec)}
	}
	return c.wake(t, r, w)
}

// resumedRole is the role in which a call goes on with an agent.
func (p Policy) resumedRole(s transcript.Spec, c SpawnCall) transcript.Role {
	switch {
	case !endsByItself(s.Role):
		return s.Role
	case p.NoBackground:
		return transcript.Foreground
	case c.Background != nil && *c.Background, c.Background == nil && (p.BackgroundByDefault || p.ForkMode):
		return transcript.Background
	}
	return transcript.Foreground
}

// checkDir refuses a directory that is not there, or that a link leads out of
// where the parent works.
func (c *Coordinator) checkDir(dir, parent string) error {
	if dir == parent {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("cwd cannot be used: %w", err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return fmt.Errorf("cwd %s is not a directory", dir)
	}
	roots := append([]string{parent}, c.opts.Policy.Dirs...)
	inside := slices.ContainsFunc(roots, func(root string) bool {
		if resolved, err := filepath.EvalSymlinks(root); err == nil {
			root = resolved
		}
		return within(real, root)
	})
	if !inside {
		return &OutsideError{Dir: dir, Dirs: roots}
	}
	return nil
}
