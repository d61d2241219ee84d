package permission

import (
	"fmt"
	"slices"
	"strings"
)

// ParseLimits parses the entries of a list of tools that restricts what an agent may
// do, such as "Bash(git diff:*)" and "Agent(reader, writer)". An entry that cannot be
// parsed becomes a rule that allows nothing.
func ParseLimits(entries []string, source string) []Rule {
	var rules []Rule
	for _, e := range entries {
		r, err := ParseRule(e)
		if err != nil {
			name, _, _ := strings.Cut(e, "(")
			r = Rule{Tool: toolName(strings.TrimSpace(name)), Specifier: "\x00"}
		}
		r.Source = source
		if r.Tool != "Agent" {
			rules = append(rules, r)
			continue
		}
		for kind := range strings.SplitSeq(r.Specifier, ",") {
			r.Specifier = strings.TrimSpace(kind)
			rules = append(rules, r)
		}
	}
	return rules
}

// checkLimits denies a use of a tool that is not among those that Policy.Only names.
func (c *call) checkLimits() (Decision, bool) {
	for _, limit := range c.policy.Only {
		rules := slices.DeleteFunc(slices.Clone(limit), func(r Rule) bool { return toolName(r.Tool) != c.tool })
		if len(rules) == 0 || c.isWithin(rules) {
			continue
		}
		texts := make([]string, len(rules))
		for i, r := range rules {
			texts[i] = strings.ReplaceAll(r.String(), "\x00", "?")
		}
		return Decision{Behavior: Deny, Rule: "limited tool", Source: rules[0].Source, Reason: fmt.Sprintf("%s may be used only as %s (%s)", c.tool, strings.Join(texts, ", "), rules[0].Source)}, true
	}
	return Decision{}, false
}

// isWithin reports whether the rules, which are for the tool of the call, cover the call
// as a whole. Unlike an allow rule, a limit makes no exception for what only reads.
func (c *call) isWithin(rules []Rule) bool {
	if slices.ContainsFunc(rules, Rule.bare) {
		return true
	}
	switch {
	case c.effect == runEffect:
		return c.scriptIsWithin(rules)
	case c.tool == "Agent":
		return slices.ContainsFunc(rules, func(r Rule) bool { return c.matchesMainField(r.Specifier, true) })
	}
	return slices.ContainsFunc(rules, c.allowedBy)
}

// scriptIsWithin reports whether the rules cover each simple command.
func (c *call) scriptIsWithin(rules []Rule) bool {
	if c.shell.Err != nil || c.shell.TooLong || c.shell.Opaque != "" || len(c.shell.Commands) == 0 {
		return false
	}
	policy := *c.policy
	policy.Mode, policy.Allow = Default, rules
	limited := *c
	limited.policy = &policy
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if rule, ok := limited.ruleFor(cmd); !ok || rule.Tool == "" || !limited.redirectsAllowed(cmd) {
			return false
		}
	}
	return true
}
