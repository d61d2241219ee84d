package defs

import (
	"encoding/json"
	"fmt"
)

// Source is where a definition came from. When two definitions have the same name, the
// higher value wins.
type Source int

// The sources in rising order of precedence. Local is for personal settings in a project:
// .claude/settings.local.json.
const (
	BuiltIn Source = iota
	Plugin
	User
	Project
	Local
	Flag
	Managed
)

// String returns the name for people, such as "built-in" or "project".
func (s Source) String() string {
	switch s {
	case BuiltIn:
		return "built-in"
	case Plugin:
		return "plugin"
	case User:
		return "user"
	case Project:
		return "project"
	case Local:
		return "local"
	case Flag:
		return "flag"
	case Managed:
		return "managed"
	}
	return fmt.Sprintf("source(%d)", int(s))
}

// Definition is one agent as its author wrote it, checked and typed. Empty
// strings and zero numbers mean that the field was not given.
type Definition struct {
	// Name is the identity of the agent; the file name does not matter.
	Name string
	// Description is for the model that chooses an agent.
	Description string
	// Tools is the allow-list as written, entry by entry. Nil means every tool,
	// empty and not nil means none.
	Tools []string
	// DisallowedTools is taken from the pool before Tools is resolved.
	DisallowedTools []string
	// Model is an alias (sonnet, opus, …), a full model id, or "inherit".
	Model string
	// PermissionMode is one of PermissionModes.
	PermissionMode string
	// MaxTurns limits the model requests of one run; 0 is no limit of its own.
	MaxTurns int
	// Background keeps the agent in the background whatever the caller requests.
	Background bool
	// Color is one of Colors.
	Color string
	// Effort is low, medium, high, xhigh, max or a whole number.
	Effort string
	// Memory is user, project or local.
	Memory string
	// Isolation is worktree or remote.
	Isolation string
	// InitialPrompt is the first user turn when the agent is the main thread.
	InitialPrompt string
	// Skills are put into the context at the start.
	Skills []string
	// OmitClaudeMD starts the agent without the user's and project's CLAUDE.md.
	OmitClaudeMD bool
	// OneShot agents answer once and cannot be resumed. Only built-ins are.
	OneShot bool
	// Hooks is the hooks object in JSON; nil without one.
	Hooks json.RawMessage
	// MCPServers are the servers named or described, in order.
	MCPServers []MCPServer
	// RequiredMCPServers must be connected before the agent can work.
	RequiredMCPServers []string
	// ForkContext gives the agent the conversation so far.
	ForkContext bool
	// CriticalReminder ends the system prompt.
	CriticalReminder string
	// Body is the system prompt, trimmed. Prompt falls back to DefaultPrompt.
	Body string

	Source Source
	// Path is the file, "--agents", or "builtin/NAME.md".
	Path string
	// Plugin is the plugin of the agent, or nil.
	Plugin *PluginInfo
	// Line is where the body starts in Path, counted from 1; 0 without a body.
	Line int
	// Extra holds every other field, known or not, as JSON in the order written.
	Extra map[string]json.RawMessage

	// Lines has the line of each field, in the order of the file.
	Lines []FieldLine
	// Untrusted is set if the file belongs to a repository that is not trusted. It may
	// then narrow what an agent can do, but not widen it.
	Untrusted bool
}

// FieldLine is the place of one field.
type FieldLine struct {
	Field string
	Line  int // counted from 1
}

// LineOf returns the line of Path in which a field was given, counted from 1;
// 0 if it was not given. The field is named as in Fields.
func (d Definition) LineOf(field string) int {
	if field == "body" {
		return d.Line
	}
	for _, l := range d.Lines {
		if l.Field == field {
			return l.Line
		}
	}
	return 0
}

// MCPServer is one entry of mcpServers: the name of a server that the session
// has, or with Config one of the agent's own.
type MCPServer struct {
	Name   string
	Config json.RawMessage // nil for a reference
}

// Prompt returns the body, or DefaultPrompt when the file has none.
func (d Definition) Prompt() string {
	if d.Body == "" {
		return DefaultPrompt()
	}
	return d.Body
}

// PermissionModes returns the accepted values of permissionMode.
func PermissionModes() []string {
	return []string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto", "manual"}
}

// Colors returns the accepted values of color.
func Colors() []string {
	return []string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"}
}

// ModelAliases returns the family names a model field may use for a full id.
func ModelAliases() []string {
	return []string{"sonnet", "opus", "haiku", "fable"}
}
