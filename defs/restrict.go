package defs

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// restrict removes from a definition what its author may not grant: a plugin cannot exceed
// what its user agreed to at installation, and an untrusted repository cannot widen
// anything.
func (p *parser) restrict(d *Definition) {
	switch {
	case p.from == Plugin && (p.plugin == nil || !p.plugin.managed):
		p.drop(d, "permissionMode", "a plugin's agent cannot set it")
		p.drop(d, "hooks", "a plugin's agent cannot bring any")
		p.drop(d, "mcpServers", "a plugin's agent cannot bring any")
		p.drop(d, "initialPrompt", "a plugin's agent cannot set it")
	case p.untrusted:
		why := "the repository is not trusted"
		p.drop(d, "hooks", why)
		p.drop(d, "mcpServers", why)
		if d.Memory == "user" {
			p.drop(d, "memory", why)
		}
		if widens(d.PermissionMode) {
			p.warn(d.LineOf("permissionMode"), "permissionMode %s is not granted, as %s; default is used", d.PermissionMode, why)
			d.PermissionMode = "default"
		}
	}
}

// widens reports modes that ask less than the default.
func widens(mode string) bool {
	return mode == "acceptEdits" || mode == "bypassPermissions" || mode == "auto"
}

// drop empties a field that was given.
func (p *parser) drop(d *Definition, field, why string) {
	if d.text(field) == "" {
		return
	}
	p.warn(d.LineOf(field), "%s is ignored: %s", field, why)
	switch field {
	case "permissionMode":
		d.PermissionMode = ""
	case "hooks":
		d.Hooks = nil
	case "mcpServers":
		d.MCPServers = nil
	case "initialPrompt":
		d.InitialPrompt = ""
	case "memory":
		d.Memory = ""
	}
}

// pluginDefaults sets fields that the file of a plugin may omit.
func (p *parser) pluginDefaults(d *Definition, line int) {
	if p.from != Plugin {
		return
	}
	if d.Name == "" {
		d.Name = strings.TrimSuffix(filepath.Base(p.path), filepath.Ext(p.path))
		p.name = d.Name
		p.warn(line, "no name; the file name %q is used", d.Name)
	}
	if d.Description == "" {
		d.Description = "Agent of a plugin"
		if p.plugin != nil {
			d.Description = "Agent of the plugin " + p.plugin.info.Name
		}
		p.warn(line, "no description; %q is used, write one so that a model knows when to use the agent", d.Description)
	}
}

// restricted returns d, of an untrusted repository, limited to what base allows, whose name
// it takes.
func restricted(d, base Definition) (Definition, []Problem) {
	p := &parser{path: d.Path, from: d.Source, name: d.Name}
	say := func(field string) {
		p.warn(max(d.LineOf(field), 1), "%s is held to that of the %s agent %q, as the repository is not trusted", field, base.Source, base.Name)
	}
	if tools := within(d.Tools, base.Tools); listText(tools) != listText(d.Tools) {
		d.Tools = tools
		say("tools")
	}
	for _, t := range base.DisallowedTools {
		if !slices.Contains(d.DisallowedTools, t) {
			d.DisallowedTools = append(slices.Clone(d.DisallowedTools), t)
			say("disallowedTools")
		}
	}
	if base.PermissionMode != "" && d.PermissionMode != base.PermissionMode && d.PermissionMode != "plan" {
		d.PermissionMode = base.PermissionMode
		say("permissionMode")
	}
	if base.MaxTurns > 0 && (d.MaxTurns == 0 || d.MaxTurns > base.MaxTurns) {
		d.MaxTurns = base.MaxTurns
		say("maxTurns")
	}
	if base.Isolation != "" && d.Isolation != base.Isolation {
		d.Isolation = base.Isolation
		say("isolation")
	}
	return d, p.problems
}

// within returns the entries of an allow-list that limit allows as well. Memory adds tools
// to a list, so that an empty one stays empty and is never nil.
func within(tools, limit []string) []string {
	if limit == nil {
		return tools
	}
	if tools == nil {
		return slices.Clone(limit)
	}
	out := []string{}
	limited := LimitedTools(limit)
	for _, t := range tools {
		of := func(e string) bool { return ToolName(e) == ToolName(t) }
		switch {
		case !listed(limit, ToolName(t)):
		case slices.ContainsFunc(limited, of) && !slices.Contains(limit, t):
			out = append(out, slices.DeleteFunc(slices.Clone(limited), func(e string) bool { return !of(e) })...)
		default:
			out = append(out, t)
		}
	}
	return slices.Compact(out)
}

// rawText is the text of a JSON string, and of anything else as it stands.
func rawText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
