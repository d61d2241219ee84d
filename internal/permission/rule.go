package permission

import (
	"fmt"
	"strings"
)

// Rule is one entry of a permission list: a tool, or certain uses of a tool.
type Rule struct {
	// Tool is a tool's name; in deny and ask rules it may contain "*".
	Tool string
	// Specifier is the text in parentheses; if it is empty, the rule is for every use.
	Specifier string
	// Source names the file or flag that the rule is from, for messages.
	Source string
	// Base is the directory that path patterns with one leading "/" start from.
	// Empty: the first of Policy.Dirs.
	Base string
	// ForCall marks a rule that was made for one call.
	ForCall bool
}

// ParseRule parses "Tool" or "Tool(specifier)". "Tool()" and "Tool(*)" are
// "Tool". Task is the old name of Agent.
func ParseRule(s string) (Rule, error) {
	s = strings.TrimSpace(s)
	name, rest, scoped := strings.Cut(s, "(")
	name = strings.TrimSpace(name)
	if name == "" || strings.ContainsAny(name, ") \t\n,") {
		return Rule{}, fmt.Errorf("permission rule %q does not start with the name of a tool; write Tool or Tool(specifier)", s)
	}
	r := Rule{Tool: toolName(name)}
	if !scoped {
		return r, nil
	}
	spec, ok := strings.CutSuffix(rest, ")")
	if !ok {
		return Rule{}, fmt.Errorf("permission rule %q has no closing parenthesis; write Tool(specifier)", s)
	}
	if spec = strings.TrimSpace(spec); spec != "*" {
		r.Specifier = spec
	}
	return r, nil
}

// ParseRestriction parses a rule that denies or asks. One without its closing parenthesis
// is returned as if it had it, with an error that names what it counts as.
func ParseRestriction(s string) (Rule, error) {
	r, err := ParseRule(s)
	if err == nil {
		return r, nil
	}
	closed, open := ParseRule(s + ")")
	if open != nil {
		return Rule{}, err
	}
	return closed, fmt.Errorf("permission rule %q has no closing parenthesis; it counts as %s", strings.TrimSpace(s), closed)
}

// String returns the rule in the form that ParseRule parses.
func (r Rule) String() string {
	if r.Specifier == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Specifier + ")"
}

func toolName(s string) string {
	switch s {
	case "Task":
		return "Agent"
	case "KillShell":
		return "TaskStop"
	case "AgentOutputTool", "BashOutput":
		return "TaskOutput"
	}
	return s
}

// bare reports whether the rule is for every use of its tool.
func (r Rule) bare() bool { return r.Specifier == "" || r.Specifier == "*" }

// glob matches text against a pattern in which "*" stands for any characters,
// in time proportional to the product of the lengths at worst.
func glob(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// globFold is glob without regard to case.
func globFold(pattern, text string) bool {
	return glob(strings.ToLower(pattern), strings.ToLower(text))
}
