package hook

import (
	"slices"
	"time"
)

// Event is what the runtime knows of a lifecycle event.
type Event struct {
	Name string
	// Fires is false for events that nothing in this runtime fires.
	Fires bool
	// Tool marks events of tool calls: only these run handlers with an "if" rule.
	Tool bool
	// Timeout is the time limit of a handler that has none of its own.
	Timeout time.Duration
}

// Limits of handlers that name none.
const (
	// DefaultTimeout is the limit at most events.
	DefaultTimeout = 600 * time.Second
	promptTimeout  = 30 * time.Second
	// endTimeout is what all hooks at the end of a session have together, unless one of
	// them asks for more, up to maxEndTimeout.
	endTimeout    = 1500 * time.Millisecond
	maxEndTimeout = time.Minute
)

// Events returns all lifecycle events, in alphabetical order.
func Events() []Event {
	var all []Event
	for _, name := range []string{
		"Notification", "PermissionRequest", "PostCompact", "PostToolUse", "PostToolUseFailure", "PreCompact", "PreToolUse",
		"SessionEnd", "SessionStart", "Stop", "SubagentStart", "SubagentStop", "TeammateIdle",
		"UserPromptSubmit", "WorktreeCreate", "WorktreeRemove",
	} {
		all = append(all, Event{Name: name, Fires: true, Tool: isToolEvent(name), Timeout: DefaultTimeout})
	}
	for _, name := range []string{
		"ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged", "InstructionsLoaded",
		"MessageDisplay", "PermissionDenied", "PostModelSwitch", "PostToolBatch", "PreModelSwitch", "Setup", "StopFailure",
		"TaskCompleted", "TaskCreated",
		"UserPromptExpansion",
	} {
		all = append(all, Event{Name: name, Tool: isToolEvent(name), Timeout: DefaultTimeout})
	}
	for i := range all {
		if all[i].Name == "UserPromptSubmit" {
			all[i].Timeout = promptTimeout
		}
	}
	slices.SortFunc(all, func(a, b Event) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

func isToolEvent(name string) bool {
	return slices.Contains([]string{"PermissionDenied", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PreToolUse"}, name)
}

// FindEvent returns the event of a name.
func FindEvent(name string) (Event, bool) {
	all := Events()
	i := slices.IndexFunc(all, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{Name: name, Timeout: DefaultTimeout}, false
	}
	return all[i], true
}
