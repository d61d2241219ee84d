package defcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/permission"
)

// Checker checks definitions. Its methods may be called from any goroutine.
type Checker struct {
	tools func() []string
}

// New returns a checker; tools returns the names of all tools that agents can have, and is
// called when they are needed first.
func New(tools func() []string) *Checker { return &Checker{tools: sync.OnceValue(tools)} }

// Problems returns what of a definition does not do what it seems to.
func (c *Checker) Problems(d defs.Definition) []defs.Problem {
	var texts []defs.Problem
	add := func(field, text string) {
		if text != "" {
			texts = append(texts, problem(d, field, text))
		}
	}
	if len(d.Hooks) > 0 {
		for _, text := range hook.CheckDefinition(d.Hooks) {
			add("hooks", text)
		}
	}
	for _, entry := range d.Tools {
		add("tools", c.allowed(entry))
	}
	for _, entry := range d.DisallowedTools {
		add("disallowedTools", c.disallowed(entry))
	}
	add("model", misspeltModel(d.Model))
	return append(texts, c.unusable(d)...)
}

// Notes returns the names in tools that are neither tools here nor problems, except for
// those of built-in agents.
func (c *Checker) Notes(d defs.Definition) []defs.Problem {
	if d.Source == defs.BuiltIn {
		return nil
	}
	var names []string
	for _, entry := range d.Tools {
		if !c.exists(entry) && c.allowed(entry) == "" {
			names = append(names, entry)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []defs.Problem{problem(d, "tools", "these of its tools do not exist here and are left out: "+strings.Join(names, ", "))}
}

func problem(d defs.Definition, field, text string) defs.Problem {
	return defs.Problem{Path: d.Path, Line: d.LineOf(field), Agent: d.Name, Source: d.Source, Text: text}
}

// allowed returns what is wrong with an entry of tools, or "".
func (c *Checker) allowed(entry string) string {
	switch name, near := defs.ToolName(entry), c.meant(entry); {
	case near != "":
		return fmt.Sprintf("there is no tool %q, and the agent does not get it; did you mean %s?", name, near)
	case c.exists(entry) && unclosed(entry):
		return fmt.Sprintf("%q in tools has no closing parenthesis and allows no use of %s; write %s) or %s", entry, name, entry, name)
	case c.exists(entry):
		return c.flaw(entry)
	}
	return ""
}

// flaw returns what is wrong with the specifier of an entry of tools, or "".
func (c *Checker) flaw(entry string) string {
	rule, err := permission.ParseRule(entry)
	if err != nil {
		return ""
	}
	if flaw := cmp.Or(rule.Flaw(permission.Allow, c.tools()), rule.Flaw(permission.Deny, c.tools())); flaw != "" {
		return "tools: " + flaw
	}
	return ""
}

// disallowed returns what is wrong with an entry of disallowedTools, or "".
func (c *Checker) disallowed(entry string) string {
	name, near := defs.ToolName(entry), c.meant(entry)
	switch {
	case near != "":
		return fmt.Sprintf("disallowedTools: there is no tool %q, so it takes nothing away; did you mean %s?", name, near)
	case !c.exists(entry) && !c.elsewhere(name):
		return fmt.Sprintf("disallowedTools: there is no tool %q, so it takes nothing away", name)
	case c.exists(entry) && unclosed(entry):
		return fmt.Sprintf("%q in disallowedTools has no closing parenthesis and takes all of %s away; write %s", entry, name, name)
	}
	return ""
}

// unusable reports a list of tools that leaves an agent without any.
func (c *Checker) unusable(d defs.Definition) []defs.Problem {
	if len(d.Tools) == 0 {
		return nil
	}
	if _, err := defs.ResolveTools(d, c.tools(), defs.ToolOptions{}); err == nil {
		return nil
	}
	p := problem(d, "tools", fmt.Sprintf("the agent cannot start: none of its tools exists here (%s); correct the list, or remove it for all tools", strings.Join(d.Tools, ", ")))
	p.Unusable = true
	return []defs.Problem{p}
}

func unclosed(entry string) bool {
	return strings.Contains(entry, "(") && !strings.HasSuffix(strings.TrimSpace(entry), ")")
}

// exists reports whether an entry names a tool that agents can have here.
func (c *Checker) exists(entry string) bool {
	name := defs.ToolName(entry)
	return name == "*" || slices.Contains(c.tools(), name)
}

// elsewhere reports whether a name is that of a tool here, of an MCP server, or of other
// programs.
func (c *Checker) elsewhere(name string) bool {
	return permission.Rule{Tool: name}.Flaw(permission.Deny, c.tools()) == ""
}

// meant returns the tool that a misspelt entry is near to, or "".
func (c *Checker) meant(entry string) string {
	name := defs.ToolName(entry)
	if c.exists(entry) || c.elsewhere(name) {
		return ""
	}
	return nearest(name, append(slices.Clone(c.tools()), "Task", "BashOutput", "KillShell"))
}

// misspeltModel returns what is wrong with a model that is near to an alias, or "".
func misspeltModel(model string) string {
	aliases := append(defs.ModelAliases(), "inherit")
	if slices.Contains(aliases, model) {
		return ""
	}
	if near := nearest(model, aliases); near != "" {
		return fmt.Sprintf("model %q is no alias, and is taken for the id of a model; did you mean %s?", model, near)
	}
	return ""
}
