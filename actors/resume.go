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

// AsItIsError reports a call that goes on with an agent and asks that it be
// another than it was. What it was is kept: mode, directory and limits are what
// was agreed for it.
type AsItIsError struct {
	Name   string
	Fields []string // of the call, that ask for something else
}

func (e *AsItIsError) Error() string {
	return fmt.Sprintf("%s goes on as it was: leave out %s, or start a new agent", e.Name, strings.Join(e.Fields, ", "))
}

// changes returns the fields of a call that ask for an agent unlike s.
func (c SpawnCall) changes(s transcript.Spec, team string) []string {
	turns := ""
	if c.MaxTurns > 0 && c.MaxTurns != s.MaxTurns {
		turns = "another"
	}
	var fields []string
	for _, f := range [...]struct{ name, asked, is string }{
		{"subagent_type", c.Type, s.Type},
		{"model", c.Model, s.Model},
		{"effort", c.Effort, s.Effort},
		{"name", c.Name, s.Name},
		{"team_name", c.Team, team},
		{"mode", c.Mode, s.Mode},
		{"isolation", c.Isolation, s.Isolation},
		{"cwd", c.Dir, s.Dir},
		{"max_turns", turns, ""},
		{"on_parent_end", c.OnParentEnd, string(s.Link)},
	} {
		if f.asked != "" && !strings.EqualFold(f.asked, f.is) {
			fields = append(fields, f.name)
		}
	}
	return fields
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
	if !ok || !t.Spec().Role.Runs() {
		return "", c.unknownAgent(call.Resume)
	}
	spec := t.Spec()
	if c.isBelow(me.ID(), spec.ID) {
		return "", fmt.Errorf("%s is not an agent that you can go on with: end your turn instead", DisplayName(spec))
	}
	if d, ok := c.opts.Definitions().Lookup(call.Type); ok {
		call.Type = d.Name
	}
	if fields := call.changes(spec, c.opts.Policy.team()); len(fields) > 0 {
		return "", &AsItIsError{Name: DisplayName(spec), Fields: fields}
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
