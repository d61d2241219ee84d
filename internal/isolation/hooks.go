package isolation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/worktree/hookdir"
	"github.com/actorswarm/swarm/tool/builtin"
)

// The lifecycle events that hooks are run on.
const (
	worktreeCreate = "WorktreeCreate"
	worktreeRemove = "WorktreeRemove"
)

// maker is the hookdir.Maker that runs WorktreeCreate and WorktreeRemove hooks.
type maker struct {
	o   Options
	by  agent.Spec // the agent in whose name the hooks run
	dir string     // where it works
}

// run runs the hooks of an event that the agent caused.
func (m maker) run(ctx context.Context, set *hook.Set, event string, fields map[string]any) []hook.Outcome {
	input := map[string]any{"session_id": m.o.Session, "cwd": m.dir}
	if m.by.ID != "" {
		input["transcript_path"] = filepath.Join(m.o.Transcripts, string(m.by.ID)+".jsonl")
		input["permission_mode"] = m.by.Mode
	}
	if m.by.Depth > 0 {
		input["agent_id"], input["agent_type"] = m.by.ID, m.by.Type
	}
	maps.Copy(input, fields)
	env := append(childenv.Of(m.o.Getenv, nil), builtin.Marks(m.o.Session, string(m.by.ID))...)
	return set.Run(ctx, hook.Call{Event: event, Input: input, Dir: m.dir, Env: append(env, "CLAUDE_PROJECT_DIR="+m.o.Dir), Place: m.o.Place})
}

// Create runs the hooks. All of them must succeed and print the same path.
func (m maker) Create(ctx context.Context, name string) (string, error) {
	paths := map[string]bool{}
	var path string
	var errs []error
	for _, o := range m.run(ctx, m.o.Hooks(), worktreeCreate, map[string]any{"name": name}) {
		if why, blocked := o.Blocked(); blocked && o.Code == 0 {
			errs = append(errs, fmt.Errorf("the hook %q of %s refused: %s", o.Command, o.Source, why))
		}
		errs = append(errs, o.Failure())
		if p := printedPath(o); p != "" {
			path, paths[p] = p, true
		}
	}
	err := errors.Join(errs...)
	switch {
	case err != nil && path != "":
		return "", fmt.Errorf("%w; %s is left as it is; remove it if nothing uses it", err, strings.Join(slices.Sorted(maps.Keys(paths)), " and "))
	case err != nil:
		return "", err
	case len(paths) != 1:
		return "", fmt.Errorf("the %s hooks must print the path of one directory as their last line; they printed %d", worktreeCreate, len(paths))
	}
	return path, nil
}

// printedPath returns the path that a hook printed: worktreePath in its JSON, or the last
// line that is not empty.
func printedPath(o hook.Outcome) string {
	if o.Output != nil {
		var specific struct {
			Path string `json:"worktreePath"`
		}
		if json.Unmarshal(o.Output.Specific, &specific) != nil {
			return ""
		}
		return specific.Path
	}
	last := ""
	for line := range strings.Lines(o.Stdout) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
}

// Remove runs the hooks, all of which must succeed.
func (m maker) Remove(ctx context.Context, path string) error {
	set := m.o.Hooks()
	if !set.Has(worktreeRemove, "") {
		return fmt.Errorf("there is no %s hook: %w", worktreeRemove, hookdir.ErrNoRemover)
	}
	var errs []error
	for _, o := range m.run(ctx, set, worktreeRemove, map[string]any{"worktree_path": path}) {
		errs = append(errs, o.Failure())
	}
	return errors.Join(errs...)
}
