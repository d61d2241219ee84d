package defs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PluginInfo describes the plugin of an agent.
type PluginInfo struct {
	Name string
	// Root is the plugin's directory, the value of ${CLAUDE_PLUGIN_ROOT}.
	Root string
	// Config holds the values of ${user_config.KEY}, by KEY, without those that the
	// plugin declares sensitive.
	Config map[string]string
}

// Expand replaces ${CLAUDE_PLUGIN_ROOT} and ${user_config.KEY} in text. It leaves a key
// without a value unchanged and returns it in missing.
func (p *PluginInfo) Expand(text string) (out string, missing []string) {
	if p == nil || !strings.Contains(text, "${") {
		return text, nil
	}
	text = strings.ReplaceAll(text, "${CLAUDE_PLUGIN_ROOT}", p.Root)
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${user_config.")
		b.WriteString(before)
		key, after, closed := strings.Cut(rest, "}")
		if !found {
			return b.String(), missing
		}
		value, ok := p.Config[key]
		if !closed || !ok {
			b.WriteString("${user_config.")
			text = rest
			if closed && !slices.Contains(missing, key) {
				missing = append(missing, key)
			}
			continue
		}
		b.WriteString(value)
		text = after
	}
}

// plugin is one enabled plugin.
type plugin struct {
	info     *PluginInfo
	managed  bool
	identity string // distinguishes readings with different settings
	paths    []*yaml.Node
	file     string // the manifest, or ""
}

// pluginSetting holds the settings about one plugin of a marketplace.
type pluginSetting struct {
	id      string // "plugin@marketplace"
	on      bool
	managed bool
	path    string // of the settings
	line    int
	from    Source
}

// addPlugins reads the plugins that the settings enable, by name, and then
// those of PluginDirs, which win over an installed one of the same name.
func (l *Loader) addPlugins(all []settings) {
	found := map[string]*plugin{}
	for _, e := range l.enabled(all) {
		dir, ok := l.installed(e.id)
		if !ok {
			l.problems = append(l.problems, Problem{
				Path: e.path, Line: e.line, Source: e.from,
				Text: fmt.Sprintf("the plugin %q is enabled but not installed; its agents are missing", e.id),
			})
			continue
		}
		name, _, _ := strings.Cut(e.id, "@")
		if p := l.readPlugin(dir, name, configOf(all, e.id), e.managed); p != nil {
			found[p.info.Name] = p
		}
	}
	for _, dir := range l.o.PluginDirs {
		name := filepath.Base(dir)
		if abs, err := filepath.Abs(dir); err == nil {
			name = filepath.Base(abs) // of "." as well
		}
		if p := l.readPlugin(dir, name, configOf(all, name), false); p != nil {
			found[p.info.Name] = p
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		l.addPlugin(found[name])
	}
}

// enabled merges enabledPlugins. An untrusted repository may disable a plugin, but not
// enable one.
func (l *Loader) enabled(all []settings) []pluginSetting {
	merged := map[string]pluginSetting{}
	for _, s := range all {
		n := child(s.root, "enabledPlugins")
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			on := value.Value == "true"
			if s.distrust && on && !merged[key.Value].on {
				l.problems = append(l.problems, Problem{
					Path: s.path, Line: key.Line, Source: s.from,
					Text: fmt.Sprintf("the plugin %q is not enabled, as the repository is not trusted", key.Value),
				})
				continue
			}
			merged[key.Value] = pluginSetting{key.Value, on, s.from == Managed, s.path, key.Line, s.from}
		}
	}
	var out []pluginSetting
	for _, id := range slices.Sorted(maps.Keys(merged)) {
		if merged[id].on {
			out = append(out, merged[id])
		}
	}
	return out
}

// configOf merges the values that the user, or the organisation, gave for a plugin. Those of
// a project do not count.
func configOf(all []settings, id string) map[string]*yaml.Node {
	config := map[string]*yaml.Node{}
	for _, s := range all {
		if s.from != User && s.from != Managed {
			continue
		}
		options := child(child(child(s.root, "pluginConfigs"), id), "options")
		for i := 0; options != nil && i+1 < len(options.Content); i += 2 {
			config[options.Content[i].Value] = options.Content[i+1]
		}
	}
	return config
}

// addPlugin reads the agents folder and then the further paths of a plugin.
func (l *Loader) addPlugin(p *plugin) {
	prefix := p.info.Name + ":"
	standard := filepath.Join(p.info.Root, "agents")
	l.addTree(root{dir: standard, from: Plugin, plugin: p, prefix: prefix})
	seen := map[string]bool{standard: true}
	for _, n := range p.paths {
		complain := func(text string) {
			l.problems = append(l.problems, Problem{Path: p.file, Line: n.Line, Source: Plugin, Text: text, Fatal: true})
		}
		if n.Kind != yaml.ScalarNode || !filepath.IsLocal(n.Value) {
			complain(fmt.Sprintf("agents must name paths inside the plugin, such as \"./more\", not %s", kind(n)))
			continue
		}
		path := filepath.Join(p.info.Root, n.Value)
		if seen[path] || filepath.Dir(path) == standard && filepath.Ext(path) == ".md" {
			continue // read already
		}
		seen[path] = true
		switch d := l.recordState(path); {
		case d.info == nil:
			complain(fmt.Sprintf("the path %q of agents does not exist", n.Value))
		case d.info.IsDir():
			l.addTree(root{dir: path, from: Plugin, plugin: p, prefix: prefix})
		case d.info.Mode().IsRegular():
			l.addTree(root{only: path, from: Plugin, plugin: p, prefix: prefix})
		default:
			complain(fmt.Sprintf("the path %q of agents is neither a file nor a folder", n.Value))
		}
	}
}
