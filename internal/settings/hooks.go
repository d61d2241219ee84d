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
func Hooks(from defs.Options, trusts func(trust.Item) bool) (*hook.Set, []error) {
	files, problems := HookFiles(from, trusts)
	set, wrong := hook.Parse(files)
	return set, slices.Concat(problems, wrong)
}

// HookFiles reads what the settings files say about hooks, the weakest first.
func HookFiles(from defs.Options, trusts func(trust.Item) bool) (files []hook.File, problems []error) {
	read, _, err := defs.ReadSettings(from)
	add := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	add(err)
	for _, f := range read {
		file := hook.File{Path: f.Path, Managed: f.Source == defs.Managed, Untrusted: f.Untrusted}
		file.Hooks, err = f.Value(hooksKey)
		add(err)
		if f.Unsafe != "" && file.Hooks != nil {
			file.Hooks = nil
			add(fmt.Errorf("%s: its hooks are not run %s", f.Path, f.Unsafe))
		}
		if item, needed := Item(f, hooksKey); needed {
			file.Untrusted = file.Untrusted || trusts == nil || !trusts(item)
		}
		for key, into := range map[string]any{
			"disableAllHooks": &file.DisableAll, "allowManagedHooksOnly": &file.ManagedOnly,
			"allowedHttpHookUrls": &file.URLs, "httpHookAllowedEnvVars": &file.Env,
		} {
			_, err := value(f, key, into)
			add(err)
		}
		files = append(files, file)
	}
	return files, problems
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
		if item, needed := Item(f, hooksKey); needed {
			all = append(all, item)
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
