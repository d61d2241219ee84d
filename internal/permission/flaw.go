package permission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/spelling"
)

// Flaw returns in one sentence why a rule of a list does not do what it seems to, or
// returns "". tools are the names of all tools of the session.
func (r Rule) Flaw(list Behavior, tools []string) string {
	name := toolName(r.Tool)
	switch {
	case list == Allow && strings.Contains(name, "*") && !globAllowed(name):
		return fmt.Sprintf("%s allows nothing: in an allow rule, * may follow only the name of an MCP server, as in mcp__server__*", r)
	case !isKnownTool(name, tools):
		return fmt.Sprintf("%s names no tool: there is no tool %s%s", r, name, meant(name, tools))
	case r.bare():
		return ""
	case several.MatchString(r.Specifier) && (list != Allow || effectOf(name) != runEffect):
		return fmt.Sprintf("%s matches nothing that was meant: it is the text of several rules; write each alone", r)
	}
	return r.specifierFlaw(list, name)
}

// several matches where a rule ends and another begins.
var several = regexp.MustCompile(`\)[\s,]+[A-Za-z_]+\(`)

func (r Rule) specifierFlaw(list Behavior, name string) string {
	key, _, isPair := strings.Cut(r.Specifier, ":")
	isPair = isPair && !strings.ContainsAny(key, " /*.")
	if effectOf(name) == runEffect {
		if flaw := r.commandFlaw(list, isPair); flaw != "" {
			return flaw
		}
	}
	switch effect := effectOf(name); {
	case isPair && isMainField(key) && effect != runEffect, isPair && key == "command" && effect == runEffect:
		return fmt.Sprintf("%s matches nothing: %s has rules of its own, without its name", r, key)
	case name == "WebFetch" && !strings.HasPrefix(r.Specifier, "domain:") && (list == Allow || !isPair):
		return fmt.Sprintf("%s matches nothing: write WebFetch(domain:HOST)", r)
	case effect == readEffect || effect == editEffect:
		return r.pathFlaw()
	case effect != otherEffect, name == "Agent", name == "SendMessage", name == "Skill", name == "Cd":
		return ""
	case list == Allow:
		return fmt.Sprintf("%s allows nothing: %s has no specifiers in allow rules", r, name)
	case !isPair:
		return fmt.Sprintf("%s matches nothing: write %s or %s(PARAMETER:VALUE)", r, name, name)
	}
	return ""
}

// pathFlaw is Flaw for a rule about paths.
func (r Rule) pathFlaw() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.Specifier, "/"), "/")
	switch {
	case strings.ContainsAny(r.Specifier[:1], "\"'"):
		return fmt.Sprintf("%s matches nothing: write the path without quotes", r)
	case strings.HasPrefix(r.Specifier, "!"):
		return fmt.Sprintf("%s excepts nothing: ! has no meaning in a rule", r)
	case strings.HasPrefix(r.Specifier, "$HOME"):
		return fmt.Sprintf("%s matches nothing: variables have no value in a rule; write ~/ for the home directory", r)
	case strings.HasPrefix(r.Specifier, "/") && slices.Contains([]string{"etc", "home", "root", "usr", "tmp", "Users"}, first):
		return fmt.Sprintf("%s is about a path below the settings' directory; write //%s for the root, or ./%s", r, r.Specifier[1:], r.Specifier[1:])
	}
	return ""
}

// isMainField reports whether a field of tool inputs has rules of its own.
func isMainField(key string) bool {
	switch strings.ToLower(key) {
	case "command", "file_path", "path", "notebook_path", "url":
		return true
	}
	return false
}

// isKnownTool reports whether a name in a rule, which may be a pattern, can be that of a
// tool. Tools of MCP servers, and those that agents have elsewhere, may come.
func isKnownTool(name string, tools []string) bool {
	return slices.Contains(elsewhere, name) || strings.HasPrefix(name, "mcp__") || slices.ContainsFunc(tools, func(t string) bool { return glob(name, t) })
}

// elsewhere are tools that agents have in other programs, or with certain settings only.
var elsewhere = []string{
	"LSP", "NotebookEdit", "MultiEdit", "Monitor", "PowerShell", "WebFetch", "WebSearch", "Skill", "Cd", "TodoWrite", "ToolSearch",
	"Artifact", "SubagentHandback", "EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Workflow",
	"EndConversation", "WaitForMcpServers", "ListMcpResourcesTool", "ReadMcpResourceTool", "SlashCommand", "NotebookRead", "LS",
}

// meant asks about the tool that a misspelt name is near to, or returns "".
func meant(name string, tools []string) string {
	for _, near := range []func(a, b string) bool{strings.EqualFold, spelling.Slip} {
		for _, t := range slices.Concat(tools, elsewhere) {
			if len(name) > 2 && near(strings.ToLower(name), strings.ToLower(t)) {
				return "; did you mean " + t + "?"
			}
		}
	}
	return ""
}

// Covers reports whether the rule, in a deny list, denies every call of a tool.
func (r Rule) Covers(tool string) bool {
	if !r.bare() {
		return false
	}
	tool = toolName(tool)
	return (&call{tool: tool, effect: effectOf(tool)}).restrictedBy(r)
}

// Conceals returns a function that reports whether the policy denies reading the file
// at an absolute path, or has a person asked about it, so that no search may show it. It
// returns nil if the policy has no rule for certain files.
func Conceals(p Policy, cwd string) func(path string) bool {
	var rules []Rule
	for _, list := range [][]Rule{p.Deny, p.Ask} {
		for _, r := range list {
			if r.Tool == "Read" && !r.bare() {
				rules = append(rules, r)
			}
		}
	}
	if len(rules) == 0 {
		return nil
	}
	l := newLocation(&p, &Request{Cwd: cwd})
	return func(path string) bool {
		for _, r := range rules {
			if l.restrictsPath(r, []string{path}) {
				return true
			}
		}
		return false
	}
}

// Denials returns a function that reports whether commands may neither read nor change, or
// not change, the file or directory at an absolute path, whose links it does not follow: what the rules deny, and for a
// command that runs unasked also what they ask about. It returns nil if the policy has no
// such rule for certain files.
func Denials(p Policy, cwd string) func(path string, unasked bool) (read, change bool) {
	l := newLocation(&p, &Request{Cwd: cwd})
	patterns := map[string][]pathPattern{}
	for kind, list := range map[string][]Rule{"deny": p.Deny, "ask": p.Ask} {
		for _, r := range list {
			effect := map[string]string{"Read": "read", "Edit": "change", "Write": "change"}[r.Tool]
			if effect != "" && !r.bare() {
				patterns[kind+effect] = addPatterns(patterns[kind+effect], l.restricting(r))
			}
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	l.resolve = nil // the caller gives each name of a file, of which there may be many
	restricted := func(path, effect string, unasked bool) bool {
		return l.matchesAny(patterns["deny"+effect], path) || unasked && l.matchesAny(patterns["ask"+effect], path)
	}
	return func(path string, unasked bool) (read, change bool) {
		if restricted(path, "read", unasked) {
			return true, true
		}
		return false, restricted(path, "change", unasked)
	}
}

// addPatterns adds the patterns that are not there: a directory has several names, often
// the same.
func addPatterns(all, more []pathPattern) []pathPattern {
	for _, p := range more {
		if !slices.ContainsFunc(all, func(q pathPattern) bool { return p.base == q.base && slices.Equal(p.parts, q.parts) }) {
			all = append(all, p)
		}
	}
	return all
}
