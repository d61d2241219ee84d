package hook

import (
	"cmp"
	"slices"
	"time"
)

// Event is what the runtime knows of a lifecycle event.
type Event struct {
	Name string
	// Absent is why nothing in this runtime fires the event; "" if something does.
	Absent string
	// Tool marks events of tool calls: only these run handlers with an "if" rule.
	Tool bool
	// Blocks reports that exit code 2 and decision block have an effect.
	Blocks bool
	// Judged reports that handlers of type prompt and agent may run at the event.
	Judged bool
	// Environ reports that hooks may set variables for later commands, by lines such as
	// "export A=1" in the file that CLAUDE_ENV_FILE names.
	Environ bool
	// Timeout is the time limit of a command that has none of its own.
	Timeout time.Duration
}

// Fires reports whether something in this runtime fires the event.
func (e Event) Fires() bool { return e.Absent == "" }

// Limits of handlers that name none.
const (
	// DefaultTimeout is the limit at most events.
	DefaultTimeout = 600 * time.Second
	promptTimeout  = 30 * time.Second
	agentTimeout   = 60 * time.Second
	// endTimeout is what all hooks at the end of a session have together, unless one of
	// them asks for more, up to maxEndTimeout.
	endTimeout    = 1500 * time.Millisecond
	maxEndTimeout = time.Minute
)

// Reasons for which nothing fires an event.
const (
	noServers = "no MCP server is connected here"
	noAsking  = "MCP servers may not ask for input"
	noTyped   = "typed commands are not expanded into prompts"
	noSetup   = "there is no start that only sets up"
	noDisplay = "what is shown is the model's own text"
	noAddDir  = "directories are added at the start only"
)

// Events returns all lifecycle events, in alphabetical order.
func Events() []Event {
	all := slices.Concat(decisiveEvents(), plainEvents(), absentEvents())
	for i := range all {
		all[i].Timeout = cmp.Or(all[i].Timeout, DefaultTimeout)
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// decisiveEvents are those at which prompts may decide.
func decisiveEvents() []Event {
	return []Event{
		{Name: "PermissionDenied", Tool: true, Judged: true},
		{Name: "PermissionRequest", Tool: true, Judged: true},
		{Name: "PostToolBatch", Judged: true, Blocks: true},
		{Name: "TaskCompleted", Judged: true, Blocks: true},
		{Name: "TaskCreated", Judged: true, Blocks: true},
		{Name: "PostToolUse", Tool: true, Judged: true, Blocks: true},
		{Name: "PostToolUseFailure", Tool: true, Judged: true, Blocks: true},
		{Name: "PreToolUse", Tool: true, Judged: true, Blocks: true},
		{Name: "Stop", Judged: true, Blocks: true},
		{Name: "SubagentStop", Judged: true, Blocks: true},
		{Name: "TeammateIdle", Judged: true, Blocks: true},
		{Name: "UserPromptSubmit", Judged: true, Blocks: true, Timeout: promptTimeout},
	}
}

// plainEvents are the others that something fires.
func plainEvents() []Event {
	return []Event{
		{Name: "StopFailure"},
		{Name: "InstructionsLoaded"},
		{Name: "PostModelSwitch", Timeout: promptTimeout},
		{Name: "PreModelSwitch", Blocks: true, Timeout: promptTimeout},
		{Name: "CwdChanged", Environ: true},
		{Name: "FileChanged", Environ: true},
		{Name: "ConfigChange", Blocks: true},
		{Name: "Notification"},
		{Name: "PostCompact"},
		{Name: "PreCompact", Blocks: true},
		{Name: "SessionEnd"},
		{Name: "SessionStart", Environ: true},
		{Name: "SubagentStart"},
		{Name: "WorktreeCreate", Blocks: true},
		{Name: "WorktreeRemove", Blocks: true},
	}
}

// absentEvents are those that nothing fires.
func absentEvents() []Event {
	return []Event{
		{Name: "DirectoryAdded", Absent: noAddDir},
		{Name: "Elicitation", Absent: noAsking, Blocks: true},
		{Name: "ElicitationResult", Absent: noAsking, Blocks: true},
		{Name: "MessageDisplay", Absent: noDisplay},
		{Name: "Setup", Absent: noSetup, Environ: true},
		{Name: "UserPromptExpansion", Absent: noTyped, Judged: true, Blocks: true},
	}
}

// EventNames returns the names of all events.
func EventNames() []string {
	var names []string
	for _, e := range Events() {
		names = append(names, e.Name)
	}
	return names
}

// FindEvent returns the event of a name.
func FindEvent(name string) (Event, bool) {
	all := Events()
	i := slices.IndexFunc(all, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{Name: name, Absent: "there is no such event", Timeout: DefaultTimeout}, false
	}
	return all[i], true
}
