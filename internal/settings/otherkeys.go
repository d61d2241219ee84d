package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/spelling"
)

// guards are the keys of a settings file that deny, hold or run something.
var guards = []string{
	"permissions", "sandbox", hooksKey, "disableAllHooks", "allowManagedHooksOnly", "allowedHttpHookUrls", "httpHookAllowedEnvVars",
	"disableAutoMode", "disableBypassPermissionsMode", "allowedMcpServers", "deniedMcpServers", "disabledMcpjsonServers",
	"allowManagedMcpServersOnly", // each file's list restricts, whatever it says
}

// harmless are the other keys that have an effect, and the name of the form.
var harmless = []string{"$schema", "agents", "enabledPlugins", "pluginConfigs", TeammateMode, CrossSessionInbound}

// inPermissions are keys that have an effect in the object permissions only.
var inPermissions = []string{"deny", "ask", "allow", "defaultMode", "additionalDirectories"}

// powerless are keys that other programs know, that would guard or run something, and that
// have no effect here, with what to do instead.
var powerless = map[string]string{
	"env":                             "set the variables where swarm is started",
	"apiKeyHelper":                    "no command is run for a key; set the key's variable where swarm is started",
	"useAutoModeDuringPlan":           "no model judges commands in mode plan; you are asked",
	"allowManagedPermissionRulesOnly": "rules of all files count",
}

// otherKey takes a key of the file itself. A key without effect that its author may rely
// on is a remark, any other is one of r.unused.
func (r *permissionReader) otherKey(e defs.SettingsEntry) error {
	switch e.Key {
	case "disableBypassPermissionsMode":
		return r.disable(e, &r.noBypass)
	case "disableAutoMode":
		return r.disable(e, &r.noAuto)
	}
	if slices.Contains(guards, e.Key) || slices.Contains(harmless, e.Key) {
		return nil
	}
	if why := reliedOn(e.Key); why != "" {
		r.remarks = append(r.remarks, fmt.Sprintf("%s: %s is not in force: %s", r.place(e.Line), e.Key, why))
		return nil
	}
	r.unused = append(r.unused, e.Key)
	return nil
}

// reliedOn says what to write instead of a key that is meant to guard or to run something,
// or returns "".
func reliedOn(key string) string {
	if why, known := powerless[key]; known {
		return why
	}
	for _, inner := range inPermissions {
		if fold(key) == fold(inner) {
			return fmt.Sprintf(`it belongs into permissions, as in {"permissions": {%q: …}}`, inner)
		}
	}
	for _, guard := range guards {
		if spelling.Near(fold(key), fold(guard)) {
			return "did you mean " + guard + "?"
		}
	}
	return ""
}

// fold returns a key without regard to case and to what separates its words.
func fold(key string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(key))
}

// unusedLine names the keys of the file that have no effect, in one line, or returns "".
func (r *permissionReader) unusedLine() string {
	if len(r.unused) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: these keys have no effect here: %s", r.file.Path, strings.Join(r.unused, ", "))
}
