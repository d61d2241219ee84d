package defs

import (
	"cmp"
	"slices"
	"strings"
)

// AgentToolDescription lists the agents for the description of the Agent tool, one
// "- type: when to use (Properties: …; Tools: …)" each, sorted by name. The order of defs
// does not matter. It indents further lines of a description, so that none can imitate
// another agent's entry. The caller leaves out denied agents.
func AgentToolDescription(defs []Definition) string {
	sorted := slices.Clone(defs)
	slices.SortStableFunc(sorted, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Source, a.Source))
	})
	var b strings.Builder
	for _, d := range sorted {
		b.WriteString("- " + d.Name + ": " + whenToUse(d.Description) + " (" + properties(d) + "Tools: " + toolsText(d) + ")\n")
	}
	return b.String()
}

// whenToUse expands line breaks, including those written as \n.
func whenToUse(s string) string {
	s = strings.ReplaceAll(s, `\n`, "\n")
	lines := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	return strings.Join(lines, "\n  ")
}

// properties lists what a caller must know besides the tools.
func properties(d Definition) string {
	var props []string
	if d.ForkContext && InEffect("forkContext") {
		props = append(props, "access to current context")
	}
	if d.Background {
		props = append(props, "runs in the background")
	}
	if d.OneShot {
		props = append(props, "answers once")
	}
	if len(props) == 0 {
		return ""
	}
	return "Properties: " + strings.Join(props, ", ") + "; "
}

func toolsText(d Definition) string {
	switch {
	case d.Tools == nil && len(d.DisallowedTools) == 0:
		return "all"
	case d.Tools == nil:
		return "all except " + strings.Join(d.DisallowedTools, ", ")
	}
	left := slices.DeleteFunc(slices.Clone(d.Tools), func(t string) bool { return listed(d.DisallowedTools, t) })
	if len(left) == 0 {
		return "none"
	}
	return strings.Join(left, ", ")
}
