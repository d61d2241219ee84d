package defs

import (
	"cmp"
	"slices"
	"strings"
)

// AgentToolDescription lists the agents for the description of the Agent tool,
// one "- type: when to use (Properties: …; Tools: …)" each, sorted by name. The same
// definitions give the same bytes in any order. Further lines of a description
// are indented, so that none can pose as another agent's entry. Leave out
// denied agents before the call.
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

// whenToUse writes line breaks out, also those that authors spell as \n.
func whenToUse(s string) string {
	s = strings.ReplaceAll(s, `\n`, "\n")
	lines := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
	return strings.Join(lines, "\n  ")
}

// properties names what a caller must know besides the tools.
func properties(d Definition) string {
	var props []string
	if d.ForkContext && InForce("forkContext") {
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
