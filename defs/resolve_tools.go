package defs

import (
	"fmt"
	"slices"
	"strings"
)

// ToolOptions holds what the spawn adds to a definition. The zero value is a foreground
// agent that may spawn others.
type ToolOptions struct {
	// Background agents keep only the built-in tools that need no terminal.
	Background bool
	// DepthLimit is set when the agent may not spawn others.
	DepthLimit bool
	// Teammate keeps the task list and schedules in the background.
	Teammate bool
	// Exact skips every filter: a fork has its parent's pool.
	Exact bool
	// MCP are the tools of the agent's own servers. They are added to whatever
	// Tools says, and DisallowedTools takes them away again.
	MCP []string
}

// NoToolsError reports a list of tools without any available tool. An agent without tools
// could not work.
type NoToolsError struct {
	Agent   string
	Entries []string
	Path    string
}

func (e *NoToolsError) Error() string {
	return fmt.Sprintf("agent %q cannot start: none of its tools exists here (%s); correct tools in %s",
		e.Agent, strings.Join(e.Entries, ", "), e.Path)
}

// ResolveTools picks from available, in its order, the tools an agent of d gets:
// first what no subagent gets is removed, then DisallowedTools, then Tools is
// resolved on the rest. An entry counts by its tool name; a specifier in
// DisallowedTools therefore removes the whole tool. Memory brings Read, Write
// and Edit to an explicit list. A list in which no entry resolves is a
// *NoToolsError; an empty list, or one that DisallowedTools empties, is not.
func ResolveTools(d Definition, available []string, o ToolOptions) ([]string, error) {
	pool := slices.DeleteFunc(slices.Clone(available), func(t string) bool { return isWithheld(d, t, o) })
	if len(d.Tools) > 0 && len(o.MCP) == 0 && !slices.ContainsFunc(pool, func(t string) bool { return listed(d.Tools, t) }) {
		return nil, &NoToolsError{Agent: d.Name, Entries: d.Tools, Path: d.Path}
	}
	allow := d.Tools
	if d.Memory != "" && len(allow) > 0 {
		allow = slices.Concat(allow, []string{"Read", "Write", "Edit"})
	}
	out := []string{}
	for _, t := range pool {
		if !listed(d.DisallowedTools, t) && (d.Tools == nil || listed(allow, t)) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, t := range o.MCP {
		if !listed(d.DisallowedTools, t) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out, nil
}

// listed reports whether some entry names tool.
func listed(entries []string, tool string) bool {
	return slices.ContainsFunc(entries, func(e string) bool { return names(ToolName(e), ToolName(tool)) })
}

// names matches a tool name, and for MCP a server ("mcp__github"), all tools of
// a server ("mcp__github__*") or of all ("mcp__*"). "*" is every tool.
func names(entry, tool string) bool {
	if entry == tool || entry == "*" {
		return true
	}
	if !strings.HasPrefix(entry, "mcp__") {
		return false
	}
	if prefix, ok := strings.CutSuffix(entry, "*"); ok {
		return strings.HasPrefix(tool, prefix)
	}
	return !strings.Contains(strings.TrimPrefix(entry, "mcp__"), "__") && strings.HasPrefix(tool, entry+"__")
}

// isWithheld reports tools that a subagent does not get even if it lists them. An agent that
// lists AskUserQuestion gets it: its questions reach the user under its name, also from the
// background and from any depth.
func isWithheld(d Definition, tool string, o ToolOptions) bool {
	if o.Exact {
		return false
	}
	switch name := ToolName(tool); name {
	case "AskUserQuestion":
		return !slices.ContainsFunc(d.Tools, func(e string) bool { return ToolName(e) == name })
	case "EndConversation", "EnterPlanMode", "ScheduleWakeup", "WaitForMcpServers", "Workflow":
		return true
	case "ExitPlanMode":
		return d.PermissionMode != "plan"
	case "Agent":
		return o.DepthLimit
	default:
		return o.Background && !worksInBackground(name, o.Teammate)
	}
}

func worksInBackground(tool string, teammate bool) bool {
	if strings.HasPrefix(tool, "mcp__") {
		return true
	}
	switch tool {
	case "Read", "Grep", "Glob", "LSP", "Bash", "PowerShell", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch",
		"TodoWrite", "Skill", "ToolSearch", "EnterWorktree", "ExitWorktree", "Monitor", "TaskStop", "TaskOutput", "SendMessage",
		"Artifact", "SubagentHandback":
		return true
	case "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "CronCreate", "CronDelete", "CronList":
		return teammate
	}
	return false
}
