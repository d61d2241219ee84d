package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/tool/builtin"
)

// The lifecycle events that hooks are run on.
const (
	worktreeCreate = "WorktreeCreate"
	worktreeRemove = "WorktreeRemove"
)

// hooks runs the hooks of the settings files, which are read anew each time.
type hooks struct {
	opts    Options // settled
	session string
	path    string // of the session
}

func (s *Session) hooks() hooks { return hooks{opts: s.opts, session: s.info.ID, path: s.info.Path} }

// load reads the hooks, and what is wrong with them.
func (h hooks) load() (*hook.Set, []error) {
	read, _, err := defs.ReadSettings(h.opts.sources())
	problems := []error{err}
	var files []hook.File
	for _, f := range read {
		file := hook.File{Path: f.Path, Managed: f.Source == defs.Managed, Untrusted: f.Untrusted}
		file.Hooks, err = f.Value("hooks")
		problems = append(problems, err,
			setting(f, "disableAllHooks", &file.DisableAll), setting(f, "allowManagedHooksOnly", &file.ManagedOnly))
		files = append(files, file)
	}
	set, wrong := hook.Parse(files)
	var all []error
	for _, err := range append(problems, wrong...) {
		if err != nil {
			all = append(all, err)
		}
	}
	return set, all
}

// setting reads one key of a settings file, if it is there.
func setting(f defs.SettingsFile, key string, into any) error {
	raw, err := f.Value(key)
	if err != nil || raw == nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %s: %w", f.Path, key, err)
	}
	return nil
}

// run runs the hooks of an event that an agent caused, in dir.
func (h hooks) run(ctx context.Context, set *hook.Set, event string, by transcript.Spec, dir string, fields map[string]any) []hook.Outcome {
	input := map[string]any{"session_id": h.session, "cwd": dir}
	if by.ID != "" {
		input["transcript_path"] = filepath.Join(h.path, "transcripts", string(by.ID)+".jsonl")
		input["permission_mode"] = by.Mode
	}
	if by.Depth > 0 {
		input["agent_id"], input["agent_type"] = by.ID, by.Type
	}
	maps.Copy(input, fields)
	env := append(childenv.Of(h.opts.Getenv, nil), builtin.Marks(h.session, string(by.ID))...)
	return set.Run(ctx, hook.Call{Event: event, Input: input, Dir: dir, Env: append(env, "CLAUDE_PROJECT_DIR="+h.opts.Dir)})
}

// hookMaker lets WorktreeCreate and WorktreeRemove hooks make and remove the
// directories of isolated agents (agent-system spec §5.5).
type hookMaker struct {
	hooks
	by  transcript.Spec // the agent that asks
	dir string          // where it works
}

// Create runs the hooks; all of them must succeed, and what they print must be
// one path.
func (m hookMaker) Create(ctx context.Context, name string) (string, error) {
	set, _ := m.load()
	paths := map[string]bool{}
	var path string
	var errs []error
	for _, o := range m.run(ctx, set, worktreeCreate, m.by, m.dir, map[string]any{"name": name}) {
		if why, blocked := o.Blocked(); blocked && o.Code == 0 {
			errs = append(errs, fmt.Errorf("the hook %q of %s refused: %s", o.Command, o.Source, why))
		}
		errs = append(errs, o.Failure())
		if p := madePath(o); p != "" {
			path, paths[p] = p, true
		}
	}
	err := errors.Join(errs...)
	switch {
	case err != nil && path != "":
		return "", fmt.Errorf("%w; look at %s, which is left as it is", err, strings.Join(slices.Sorted(maps.Keys(paths)), " and "))
	case err != nil:
		return "", err
	case len(paths) != 1:
		return "", fmt.Errorf("the %s hooks must print the path of one directory as their last line; they printed %d", worktreeCreate, len(paths))
	}
	return path, nil
}

// madePath returns the path that a hook gave: worktreePath in its JSON, or the
// last line with something in it.
func madePath(o hook.Outcome) string {
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
func (m hookMaker) Remove(ctx context.Context, path string) error {
	set, _ := m.load()
	if !set.Has(worktreeRemove, "") {
		return fmt.Errorf("there is no %s hook: %w", worktreeRemove, worktree.ErrNoRemover)
	}
	var errs []error
	for _, o := range m.run(ctx, set, worktreeRemove, m.by, m.dir, map[string]any{"worktree_path": path}) {
		errs = append(errs, o.Failure())
	}
	return errors.Join(errs...)
}
