package node

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/filewatch"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/settings"
)

// hookFiles are the hooks of the settings files and of definitions, as they were when they
// were first read or last taken up. What agents may change, files of the directory, never
// loses its hooks by a change that the user does not trust. Its methods may be called from
// any goroutine.
type hookFiles struct {
	config Config

	mu    sync.Mutex
	read  bool                 // guarded by mu
	files []hook.File          // the weakest first; guarded by mu
	defs  map[string]hook.File // by agent type; guarded by mu
	last  []hook.File          // the files as they were read last; guarded by mu
	known map[string]bool      // problems that were reported; guarded by mu
}

func newHookFiles(c Config) *hookFiles {
	return &hookFiles{config: c, defs: map[string]hook.File{}, known: map[string]bool{}}
}

// load returns the files that are in force.
func (h *hookFiles) load() []hook.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.read {
		files, problems := settings.HookFiles(h.config.Sources(), h.config.trustState)
		h.files, h.last, h.read = files, files, true
		h.unknown(files, files, problems) // reported at the start
	}
	return h.files
}

// own returns the hooks in an agent's definition, if the user trusts them.
func (h *hookFiles) own(d *Definitions, spec agent.Spec) (f hook.File, ok bool) {
	def, ok := d.Set().Lookup(spec.Type)
	f = h.config.OwnHooks(def)
	f.Directory = f.Directory || !ok
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, known := h.defs[spec.Type]; known && guards(old) && f.Directory && !guards(f) {
		f = old
	}
	h.defs[spec.Type] = f
	return f, len(f.Hooks) > 0
}

// OwnHooks returns the hooks in an agent's definition.
func (c Config) OwnHooks(def defs.Definition) hook.File {
	item, needed := settings.DefinitionItem(def)
	return hook.File{
		Path: def.Path, Hooks: def.Hooks, Untrusted: needed && !c.trusts(item), Agent: true,
		Directory: def.Source == defs.Project || def.Source == defs.Local,
	}
}

// guards reports a file whose hooks run.
func guards(f hook.File) bool { return len(f.Hooks) > 0 && !f.Untrusted }

// refresh reads the files anew and takes changes up. allows returns why a change is not to
// be taken up, or "". warn is called with one line for each file that has changed.
func (h *hookFiles) refresh(allows func(f hook.File) (why string), warn func(string)) {
	before := h.load()
	now, problems := settings.HookFiles(h.config.Sources(), h.config.trustState)
	h.mu.Lock()
	last := h.last
	h.last = now
	h.mu.Unlock()
	var after []hook.File
	for _, f := range now {
		old := find(before, f.Path)
		switch {
		case f.Equal(old):
			after = append(after, f)
		case f.Equal(find(last, f.Path)): // it was warned of
			after = appendFile(after, old)
		default:
			after = appendFile(after, h.take(old, f, allows, warn))
		}
	}
	for _, old := range before {
		if find(now, old.Path).Path == "" {
			gone := hook.File{Path: old.Path, Managed: old.Managed, Directory: old.Directory}
			if find(last, old.Path).Path == "" {
				after = append(after, old)
				continue
			}
			after = appendFile(after, h.take(old, gone, allows, warn))
		}
	}
	h.mu.Lock()
	h.files = after
	fresh := h.unknown(now, after, problems)
	h.mu.Unlock()
	for _, text := range fresh {
		warn(text)
	}
}

// unknown returns the problems that were not reported before: those of reading the files
// and those of the hooks in force. take warns of files that do not count.
func (h *hookFiles) unknown(read, inForce []hook.File, problems []error) (fresh []string) {
	_, wrong := hook.Parse(inForce)
	for _, err := range slices.Concat(problems, wrong) {
		text := err.Error()
		counts := !slices.ContainsFunc(read, func(f hook.File) bool {
			return (f.Untrusted || f.Broken) && strings.HasPrefix(text, f.Path+":")
		})
		if counts && !h.known[text] {
			fresh = append(fresh, text)
		}
		h.known[text] = true
	}
	return fresh
}

func find(all []hook.File, path string) hook.File {
	if i := slices.IndexFunc(all, func(f hook.File) bool { return f.Path == path }); i >= 0 {
		return all[i]
	}
	return hook.File{}
}

func appendFile(all []hook.File, f hook.File) []hook.File {
	if f.Path == "" {
		return all
	}
	return append(all, f)
}

// take returns which of two states of a file is in force.
func (h *hookFiles) take(old, now hook.File, allows func(hook.File) string, warn func(string)) hook.File {
	switch {
	case now.Unread && old.Path != "":
		return old // the reader of the rules has said so
	case now.Broken && old.Path != "":
		warn(now.Path + " cannot be read; its hooks stay as they were")
		return old
	case guards(old) && now.Directory && !guards(now):
		warn(now.Path + ": its hooks have changed since they were trusted and stay as they were; see them with: swarm trust")
		return old
	}
	if why := allows(now); why != "" && !now.Managed {
		warn(now.Path + " has changed; its hooks stay as they were, as a ConfigChange hook objects: " + why)
		return old
	}
	if now.Untrusted {
		warn(now.Path + ": its hooks are not run, as the directory is not trusted; see them with: swarm trust")
	} else {
		warn(now.Path + " has changed; its hooks are in force as they are now")
	}
	return now
}

// paths returns where settings files are, or may come to be.
func (h *hookFiles) paths() []string {
	from := h.config.Sources()
	var paths []string
	if from.ManagedDir != "" {
		paths = append(paths, filepath.Join(from.ManagedDir, "managed-settings.json"))
	}
	user := from.ConfigDir
	if user == "" && from.Home != "" {
		user = filepath.Join(from.Home, ".claude")
	}
	if user != "" {
		paths = append(paths, filepath.Join(user, "settings.json"))
	}
	for dir := h.config.Dir; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			if path := filepath.Join(dir, ".claude", name); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		if filepath.Dir(dir) == dir {
			return paths
		}
	}
}

// sourceOf is what hooks call the source of a settings file.
func sourceOf(f hook.File) string {
	switch {
	case f.Managed:
		return "policy_settings"
	case !f.Directory:
		return "user_settings"
	case filepath.Base(f.Path) == "settings.local.json":
		return "local_settings"
	}
	return "project_settings"
}

// watchFiles takes changed hooks up and runs the hooks of files that change, until the
// scope ends.
func (n *Node) watchFiles() {
	var watched []string
	owner := n.services.Owner == nil
	settingsPaths := n.hookFiles.paths()
	filewatch.New(filewatch.Options{
		Paths: func() []string {
			if owner {
				watched = n.hooks.Watched(n.options.Dir)
			}
			return slices.Concat(settingsPaths, watched)
		},
		Changed: func(ctx context.Context, path, what string) {
			if slices.Contains(settingsPaths, path) {
				n.hookFiles.refresh(n.allowsConfig, n.Warn)
			}
			if slices.Contains(watched, path) {
				n.hooks.FileChanged(ctx, n.leadSpec(), path, what)
			}
		},
	}).Run(n.scope)
}

// allowsConfig runs the hooks of a settings file that has changed. In a process of its own
// an agent keeps what it has if there are such hooks: they run in the owner's.
func (n *Node) allowsConfig(f hook.File) (why string) {
	if n.services.Owner == nil {
		return n.hooks.ConfigChange(n.scope, n.leadSpec(), sourceOf(f), f.Path)
	}
	if n.hooks.Listens("ConfigChange") {
		return "they run in the owner's process, and this one keeps what it has"
	}
	return ""
}

// leadSpec is the lead, or who it is before it is made.
func (n *Node) leadSpec() agent.Spec {
	if t, ok := n.Store.Get(agent.LeadID); ok {
		return t.Spec()
	}
	return agent.Spec{Role: agent.Lead, Dir: n.options.Dir}
}
