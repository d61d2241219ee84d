package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// readPlugin reads the manifest of the plugin in dir, which is called name if
// the manifest does not say. It returns nil, and a problem, if the directory is
// no plugin.
func (l *Loader) readPlugin(dir, name string, config map[string]*yaml.Node, managed bool) *plugin {
	abs, err := filepath.Abs(dir)
	if err == nil {
		dir = abs
	}
	if d := l.recordState(dir); d.info == nil || !d.info.IsDir() {
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
		l.recordState(path)
		src, err := ReadFile(path)
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
		if why := nameProblem(n.Value); why != "" {
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
