package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/trust"
)

// hooksKey is the key of the hooks in settings files and in definitions.
const hooksKey = "hooks"

// Hooks reads the hooks, and what is wrong with them. Hooks of a directory that trusts
// does not cover are not run; without trusts that is every directory.
func Hooks(from defs.Options, trusts func(trust.Item) trust.State) (*hook.Set, []error) {
	files, problems := HookFiles(from, trusts)
	set, wrong := hook.Parse(files)
	return set, slices.Concat(problems, wrong)
}

// HookFiles reads the hooks of the settings files, the weakest first.
func HookFiles(from defs.Options, trusts func(trust.Item) trust.State) (files []hook.File, problems []error) {
	read, _, err := defs.ReadSettings(from)
	if err != nil {
		problems = append(problems, err)
	}
	for _, f := range read {
		state := func(key string) trust.State { return stateOf(f, key, trusts) }
		file, wrong := hookFile(f, func(key string) bool { return state(key) == trust.Trusted })
		file.Changed = file.Untrusted && state(hooksKey) == trust.Changed
		files, problems = append(files, file), append(problems, wrong...)
	}
	return files, problems
}

// stateOf returns what the user has said of a key of a file.
func stateOf(f defs.SettingsFile, key string, trusts func(trust.Item) trust.State) trust.State {
	item, needed := Item(f, key)
	switch {
	case !needed:
		return trust.Trusted
	case trusts == nil:
		return trust.Untrusted
	}
	return trusts(item)
}

// hookFile reads the hooks of one file. What loosens holds if the key is trusted.
func hookFile(f defs.SettingsFile, trusted func(key string) bool) (file hook.File, problems []error) {
	file = hook.File{
		Path: f.Path, Managed: f.Source == defs.Managed, Directory: f.Source == defs.Project || f.Source == defs.Local,
		Untrusted: f.Untrusted || !trusted(hooksKey), Broken: f.Broken != nil || f.Unsafe != "", Unread: f.Broken != nil,
	}
	var err error
	if file.Hooks, err = f.Value(hooksKey); err != nil {
		file.Broken = true
		problems = append(problems, err)
	}
	if f.Unsafe != "" && file.Hooks != nil {
		file.Hooks = nil
		problems = append(problems, fmt.Errorf("%s: its hooks are not run %s", f.Path, f.Unsafe))
	}
	for _, k := range []struct {
		name    string
		into    any
		loosens func() bool
		forget  func()
	}{
		{"disableAllHooks", &file.DisableAll, func() bool { return file.DisableAll != nil && *file.DisableAll }, func() { file.DisableAll = nil }},
		{"allowManagedHooksOnly", &file.ManagedOnly, func() bool { return false }, nil},
		{"allowedHttpHookUrls", &file.URLs, func() bool { return file.URLs != nil }, func() { file.URLs = nil }},
		{"httpHookAllowedEnvVars", &file.Env, func() bool { return file.Env != nil }, func() { file.Env = nil }},
	} {
		if _, err := value(f, k.name, k.into); err != nil {
			problems = append(problems, err)
		}
		switch {
		case k.loosens() && f.Unsafe != "":
			k.forget()
			problems = append(problems, fmt.Errorf("%s: its %s is left out %s", f.Path, k.name, f.Unsafe))
		case k.loosens() && !trusted(k.name):
			k.forget()
			problems = append(problems, fmt.Errorf("%s: its %s is left out, as the directory is not trusted; see it, and trust it, with: swarm trust", f.Path, k.name))
		}
	}
	return file, problems
}

// hookKeys are the keys about hooks that may loosen, or run, something.
func hookKeys() []string {
	return []string{hooksKey, "disableAllHooks", "allowedHttpHookUrls", "httpHookAllowedEnvVars"}
}

// Item returns what a key of a settings file would run or allow, if it has the key and
// the file belongs to a directory that the user must trust first.
func Item(f defs.SettingsFile, key string) (item trust.Item, needed bool) {
	raw, err := f.Value(key)
	if err != nil || raw == nil || f.Source != defs.Project && f.Source != defs.Local {
		return item, false
	}
	return itemOf(f.Path, key, raw), true
}

// DefinitionItem is Item for the hooks of an agent's definition.
func DefinitionItem(d defs.Definition) (item trust.Item, needed bool) {
	if len(d.Hooks) == 0 || d.Source != defs.Project && d.Source != defs.Local {
		return item, false
	}
	return itemOf(d.Path, hooksKey+" of "+d.Name, d.Hooks), true
}

func itemOf(path, key string, raw json.RawMessage) trust.Item {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if i := strings.LastIndex(path, "/.claude/"); i >= 0 {
		dir, name = path[:i], path[i+1:]
	}
	return trust.Item{Dir: dir, Name: fmt.Sprintf("%s %s", filepath.ToSlash(name), key), Text: string(raw)}
}

// Items returns all that the directories of the settings files and the definitions
// would run or allow.
func Items(from defs.Options, set *defs.Set) (all []trust.Item, err error) {
	files, _, err := defs.ReadSettings(from)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		for _, key := range hookKeys() {
			if item, needed := Item(f, key); needed {
				all = append(all, item)
			}
		}
		if item, needed := readPermissions(from, f).item(); needed {
			all = append(all, item)
		}
	}
	for _, d := range set.All {
		if item, needed := DefinitionItem(d); needed {
			all = append(all, item)
		}
	}
	return all, nil
}
