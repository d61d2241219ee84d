package defs

import (
	"slices"
	"strings"
)

// SplitTools cuts a comma-separated list of tools. Commas inside parentheses
// belong to their entry: "Agent(a, b), Bash(git diff:*)" has two. Empty entries
// are dropped; the result is never nil.
func SplitTools(s string) []string {
	out := []string{}
	depth, start := 0, 0
	add := func(end int) {
		if e := strings.TrimSpace(s[start:end]); e != "" {
			out = append(out, e)
		}
		start = end + 1
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		case ',', '\n':
			if depth == 0 {
				add(i)
			}
		}
	}
	if depth > 0 {
		// A parenthesis was never closed: its commas are separators after all.
		return append(out, splitPlain(s[start:])...)
	}
	if start < len(s) {
		add(len(s))
	}
	return out
}

func splitPlain(s string) []string {
	var out []string
	for e := range strings.SplitSeq(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// ToolName returns the tool of an entry, without its specifier: "Bash(git diff:*)" is
// "Bash". Task is the old name of Agent.
func ToolName(entry string) string {
	name, _, _ := strings.Cut(entry, "(")
	name = strings.TrimSpace(name)
	switch name {
	case "Task":
		return "Agent"
	case "KillShell":
		return "TaskStop"
	case "AgentOutputTool", "BashOutput":
		return "TaskOutput"
	}
	return name
}

// LimitedTools returns the entries of a list of tools that give only certain uses of a
// tool, such as "Bash(git diff:*)", unless another entry gives the tool whole.
func LimitedTools(entries []string) []string {
	var limited []string
	for _, e := range entries {
		whole := func(other string) bool { return isWholeTool(other) && names(ToolName(other), ToolName(e)) }
		if !isWholeTool(e) && !slices.ContainsFunc(entries, whole) {
			limited = append(limited, e)
		}
	}
	return limited
}

// isWholeTool reports whether an entry gives every use of its tool.
func isWholeTool(entry string) bool {
	_, specifier, scoped := strings.Cut(strings.TrimSpace(entry), "(")
	specifier, closed := strings.CutSuffix(specifier, ")")
	specifier = strings.TrimSpace(specifier)
	return !scoped || closed && (specifier == "" || specifier == "*")
}
