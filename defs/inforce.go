package defs

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// FieldInfo describes the effect of a field in this runtime.
type FieldInfo struct {
	Name string
	// InEffect is false for a field that is read, checked and kept, but has no effect
	// yet.
	InEffect bool
	// Note is the effect of the field, or what happens instead.
	Note string
}

// Fields lists all fields of a definition, in the recommended order.
func Fields() []FieldInfo {
	return []FieldInfo{
		{"name", true, "the type that an Agent call names"},
		{"description", true, "tells a model when to use the agent"},
		{"tools", true, "the only tools the agent may have; absent means all"},
		{"disallowedTools", true, "tools taken away, before tools is resolved"},
		{"model", true, "an alias, an id or inherit"},
		{"effort", true, "how hard the model thinks"},
		{"permissionMode", true, "the narrower of this and the parent's applies"},
		{"maxTurns", true, "limit of model requests in one run"},
		{"background", true, "the agent never makes its caller wait"},
		{"isolation", true, "worktree: the agent works in a git worktree of its own; remote is refused"},
		{"color", true, "for display; one is assigned if none is given"},
		{"omitClaudeMd", true, "starts without the CLAUDE.md of user and project"},
		{"criticalSystemReminder", true, "ends the system prompt"},
		{"oneShot", true, "answers once, and starts without the state of git; built-in agents only"},
		{"body", true, "the system prompt; absent means the default one"},
		{"initialPrompt", false, "no agent file is the main thread yet"},
		{"memory", false, "Read, Write and Edit are added and MEMORY.md is shown; nothing else is kept for the agent"},
		{"skills", false, "no skill is put into the context"},
		{"mcpServers", false, "a server that is described here is not started, one that is named adds its tools"},
		{"requiredMcpServers", false, "the agent starts without looking for them"},
		{"hooks", true, "run while the agent runs, if the directory is trusted; Stop is SubagentStop"},
		{"forkContext", false, "the agent starts without the conversation"},
		{"autoCompactWindow", false, "conversations are not compacted for one agent alone"},
		{"experimental", false, "nothing in it is known"},
		{"observer", false, "nothing observes the agent"},
	}
}

// InEffect reports whether a field has an effect in this runtime. Unknown fields have none.
func InEffect(field string) bool {
	info, known := fieldInfo(field)
	return known && info.InEffect
}

func fieldInfo(field string) (FieldInfo, bool) {
	for _, f := range Fields() {
		if f.Name == field {
			return f, true
		}
	}
	return FieldInfo{Name: field, Note: "unknown field, ignored"}, false
}

// warnNotInEffect warns about fields without an effect.
func (p *parser) warnNotInEffect(d *Definition) {
	for _, l := range d.Lines {
		if info, known := fieldInfo(l.Field); known && !info.InEffect && d.text(l.Field) != "" && d.text(l.Field) != "remote" {
			p.warn(l.Line, "%s is kept but not in force yet: %s", l.Field, info.Note)
		}
	}
}

// FieldValue is one row of an explanation.
type FieldValue struct {
	FieldInfo
	// Value is the text of the field, with lists as "a, b" and maps as JSON;
	// "" if the field was not given, was given without a value, or was refused.
	Value string
	// Path and Line are where the field was given; Line is 0 if it was not.
	Path string
	Line int
}

// Explain returns every known field in the order of Fields, given or not, and
// then the unknown ones in the order of the file.
func (d Definition) Explain() []FieldValue {
	var rows []FieldValue
	for _, info := range Fields() {
		rows = append(rows, FieldValue{FieldInfo: info, Value: d.text(info.Name), Path: d.Path, Line: d.LineOf(info.Name)})
	}
	for _, l := range d.Lines {
		if info, known := fieldInfo(l.Field); !known {
			rows = append(rows, FieldValue{FieldInfo: info, Value: d.text(l.Field), Path: d.Path, Line: l.Line})
		}
	}
	return rows
}

// text returns the value of a field for people.
func (d *Definition) text(field string) string {
	switch field {
	case "name":
		return d.Name
	case "description":
		return d.Description
	case "tools":
		return listText(d.Tools)
	case "disallowedTools":
		return listText(d.DisallowedTools)
	case "model":
		return d.Model
	case "effort":
		return d.Effort
	case "permissionMode":
		return d.PermissionMode
	case "color":
		return d.Color
	case "body":
		return d.Body
	case "criticalSystemReminder":
		return d.CriticalReminder
	case "initialPrompt":
		return d.InitialPrompt
	}
	return d.moreText(field)
}

func (d *Definition) moreText(field string) string {
	switch field {
	case "memory":
		return d.Memory
	case "isolation":
		return d.Isolation
	case "skills":
		return strings.Join(d.Skills, ", ")
	case "requiredMcpServers":
		return strings.Join(d.RequiredMCPServers, ", ")
	case "mcpServers":
		return serversText(d.MCPServers)
	case "hooks":
		return string(d.Hooks)
	case "maxTurns":
		return strings.TrimPrefix(strconv.Itoa(d.MaxTurns), "0")
	case "background":
		return flagText(d.Background)
	case "omitClaudeMd":
		return flagText(d.OmitClaudeMD)
	case "oneShot":
		return cmp.Or(flagText(d.OneShot), string(d.Extra[field]))
	case "forkContext":
		return flagText(d.ForkContext)
	}
	return string(d.Extra[field])
}

func flagText(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// listText distinguishes an empty list from a missing one.
func listText(list []string) string {
	if list != nil && len(list) == 0 {
		return "[]"
	}
	return strings.Join(list, ", ")
}

func serversText(servers []MCPServer) string {
	var out []string
	for _, s := range servers {
		text := s.Name
		if s.Config != nil {
			text += " " + string(json.RawMessage(s.Config))
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
