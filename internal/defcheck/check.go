package defcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/permission"
)

// Checker checks definitions. Its methods may be called from any goroutine.
type Checker struct {
	tools, servers func() []string
}

// New returns a checker; tools returns the names of all tools that agents can have, and
// servers those of the MCP servers that are configured. Both are called when they are needed
// first.
func New(tools, servers func() []string) *Checker {
	return &Checker{tools: sync.OnceValue(tools), servers: sync.OnceValue(servers)}
}

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
	var names, servers []string
	for _, entry := range d.Tools {
		if serverOf(entry) == "" && !c.exists(entry) && c.allowed(entry) == "" {
			names = append(names, entry)
		}
	}
	for name := range ServersOf(d) {
		if !slices.Contains(c.servers(), name) {
			servers = append(servers, name)
		}
	}
	return slices.Concat(missingServers(d, servers), missingTools(d, names))
}

// missingServers names the MCP servers that are not configured.
func missingServers(d defs.Definition, servers []string) []defs.Problem {
	if len(servers) == 0 {
		return nil
	}
	slices.Sort(servers)
	return []defs.Problem{problem(d, "tools", "it lists MCP servers that are not configured, whose tools are left out: "+strings.Join(servers, ", ")+"; configure them with: swarm mcp add")}
}

// serverOf returns the MCP server that an entry names, or "".
func serverOf(entry string) string {
	rest, ok := strings.CutPrefix(defs.ToolName(entry), "mcp__")
	if !ok {
		return ""
	}
	server, _, _ := strings.Cut(rest, "__")
	return server
}

// has reports whether an MCP server is configured, for all agents or for one.
func (c *Checker) has(d defs.Definition, server string) bool {
	if server == "" {
		return false
	}
	return slices.Contains(c.servers(), server) || strings.Contains(server, "*") && len(c.servers()) > 0
}

// missingTools names tools that are not known.
func missingTools(d defs.Definition, names []string) []defs.Problem {
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
	if slices.ContainsFunc(d.Tools, func(entry string) bool { return c.has(d, serverOf(entry)) }) {
		return nil // known when the server runs
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

// ServersOf returns the MCP servers whose tools a definition lists, and those that it names
// in mcpServers, but for those that it describes there itself.
func ServersOf(d defs.Definition) map[string]bool {
	all := map[string]bool{}
	for _, entry := range d.Tools {
		all[serverOf(entry)] = true
	}
	for _, s := range d.MCPServers {
		all[s.Name] = s.Config == nil
	}
	maps.DeleteFunc(all, func(name string, named bool) bool { return !named || name == "" || name == "*" })
	return all
}
