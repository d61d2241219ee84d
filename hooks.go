package swarm

import (
	"encoding/json"
	"fmt"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/hook"
)

// hooks reads the hooks of the settings files, and what is wrong with them.
func (o Options) hooks() (*hook.Set, []error) {
	read, _, err := defs.ReadSettings(o.sources())
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
