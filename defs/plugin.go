package defs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PluginInfo is what an agent knows of the plugin that brought it.
type PluginInfo struct {
	Name string
	// Root is the plugin's directory, which ${CLAUDE_PLUGIN_ROOT} stands for.
	Root string
	// Config is what ${user_config.KEY} stands for, by KEY. Values that the
	// plugin calls sensitive are not in it.
	Config map[string]string
}

// Expand replaces ${CLAUDE_PLUGIN_ROOT} and ${user_config.KEY} in text. A key
// without a value stays as it is written and is returned in missing.
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
	distrust bool
	identity string // tells readings with different settings apart
	paths    []*yaml.Node
	file     string // the manifest, or ""
}

// enabling is what the settings say about one plugin of a marketplace.
type enabling struct {
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

// enabled merges enabledPlugins. A repository that is not trusted may switch a
// plugin off, but not on.
func (l *Loader) enabled(all []settings) []enabling {
	merged := map[string]enabling{}
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
			merged[key.Value] = enabling{key.Value, on, s.from == Managed, s.path, key.Line, s.from}
		}
	}
	var out []enabling
	for _, id := range slices.Sorted(maps.Keys(merged)) {
		if merged[id].on {
			out = append(out, merged[id])
		}
	}
	return out
}

// configOf merges the values that the user, or the organisation, gave for a
// plugin. A project has no say.
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

// installed finds the directory of "plugin@marketplace" in the user's plugins:
// what the list of installed ones says, or else the newest version in the cache,
// or else the marketplace's own copy.
func (l *Loader) installed(id string) (string, bool) {
	base := l.o.userDir()
	name, market, _ := strings.Cut(id, "@")
	if base == "" || badName(name) != "" || market != "" && badName(market) != "" {
		return "", false
	}
	base = filepath.Join(base, "plugins")
	if dir := l.listed(filepath.Join(base, "installed_plugins.json"), id); dir != "" {
		return dir, true
	}
	cache := filepath.Join(base, "cache", market, name)
	if dir := l.newest(cache); dir != "" {
		return dir, true
	}
	for _, dir := range []string{filepath.Join(base, "marketplaces", market, "plugins", name), filepath.Join(base, name)} {
		if l.depend(dir).info != nil {
			return dir, true
		}
	}
	return "", false
}

// listed reads the path of a plugin from the list of installed ones, of which
// two forms exist: an object, or a list with one for each scope.
func (l *Loader) listed(list, id string) string {
	l.depend(list)
	src, err := readLimited(list)
	if err != nil {
		return "" // the cache says the same
	}
	root, err := parseJSON(string(src))
	if err != nil {
		l.problems = append(l.problems, Problem{Path: list, Source: Plugin, Line: lineOf(err), Text: fmt.Sprintf("the list of installed plugins cannot be read: %v", withoutLine(err)), cause: err})
		return ""
	}
	entry := child(child(root, "plugins"), id)
	if entry != nil && entry.Kind == yaml.SequenceNode && len(entry.Content) > 0 {
		entry = entry.Content[len(entry.Content)-1]
	}
	if path := child(entry, "installPath"); path != nil && l.depend(path.Value).info != nil {
		return path.Value
	}
	return ""
}

// newest returns the folder of the highest version in dir, or "".
func (l *Loader) newest(dir string) string {
	if l.depend(dir).info == nil {
		return ""
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	best := ""
	for _, e := range entries {
		if e.IsDir() && (best == "" || compareVersions(e.Name(), best) > 0) {
			best = e.Name()
		}
	}
	if best == "" {
		return ""
	}
	return filepath.Join(dir, best)
}

// compareVersions orders "1.10.0" after "1.9.0"; other texts as they stand.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if c := cmp.Or(cmp.Compare(len(digits(x)), len(digits(y))), cmp.Compare(x, y)); c != 0 {
			return c
		}
	}
	return 0
}

func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// readPlugin reads the manifest of the plugin in dir, which is called name if
// the manifest does not say. It returns nil, and a problem, if the directory is
// no plugin.
func (l *Loader) readPlugin(dir, name string, config map[string]*yaml.Node, managed bool) *plugin {
	abs, err := filepath.Abs(dir)
	if err == nil {
		dir = abs
	}
	if d := l.depend(dir); d.info == nil || !d.info.IsDir() {
		l.problems = append(l.problems, Problem{Path: dir, Source: Plugin, Text: "is not the directory of a plugin; name an existing one", Fatal: true})
		return nil
	}
	p := &plugin{info: &PluginInfo{Name: name, Root: dir, Config: map[string]string{}}, managed: managed}
	if !l.readManifest(p, config) {
		return nil
	}
	raw, err := json.Marshal(p.info)
	if err != nil {
		raw = []byte(dir) // strings always encode
	}
	p.identity = fmt.Sprintf("%v %s", managed, raw)
	return p
}

// readManifest fills p from plugin.json. Without one the folder's name counts.
func (l *Loader) readManifest(p *plugin, config map[string]*yaml.Node) bool {
	for _, rel := range []string{filepath.Join(".claude-plugin", "plugin.json"), "plugin.json"} {
		path := filepath.Join(p.info.Root, rel)
		l.depend(path)
		src, err := readLimited(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var root *yaml.Node
		if err == nil {
			text, _ := decodeText(src)
			root, err = parseJSON(text)
		}
		if err == nil && root.Kind != yaml.MappingNode {
			err = errors.New("it is not an object")
		}
		p.file = path
		if err != nil {
			l.problems = append(l.problems, Problem{Path: path, Source: Plugin, Line: lineOf(err), Text: fmt.Sprintf("the manifest cannot be read, so the plugin's agents are missing: %v", withoutLine(err)), Fatal: true, cause: err})
			return false
		}
		return l.useManifest(p, root, config)
	}
	return true
}

func (l *Loader) useManifest(p *plugin, root *yaml.Node, config map[string]*yaml.Node) bool {
	if n := child(root, "name"); n != nil && n.Value != "" {
		if why := badName(n.Value); why != "" {
			l.problems = append(l.problems, Problem{Path: p.file, Line: n.Line, Source: Plugin, Text: fmt.Sprintf("the plugin's name %q %s; its agents are missing", shorten(n.Value, 60), why), Fatal: true})
			return false
		}
		p.info.Name = n.Value
	}
	if n := child(root, "agents"); n != nil {
		p.paths = []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			p.paths = n.Content
		}
	}
	declared := child(root, "userConfig")
	for i := 0; declared != nil && i+1 < len(declared.Content); i += 2 {
		key, spec := declared.Content[i].Value, declared.Content[i+1]
		value := config[key]
		if value == nil {
			value = child(spec, "default")
		}
		sensitive := child(spec, "sensitive")
		if value == nil || sensitive != nil && sensitive.Value == "true" {
			continue
		}
		if value.Kind == yaml.ScalarNode {
			p.info.Config[key] = value.Value
		} else if raw, err := toJSON(value); err == nil {
			p.info.Config[key] = rawText(raw)
		}
	}
	return true
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
		switch d := l.depend(path); {
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
