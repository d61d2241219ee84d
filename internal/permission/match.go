package permission

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// restrictedBy reports whether a deny or ask rule applies to the call: one part of it,
// in one form, must match.
func (c *call) restrictedBy(r Rule) bool {
	r.Tool = toolName(r.Tool)
	if r.bare() {
		return c.sameTool(r.Tool) || glob(r.Tool, c.tool) || matchesServer(r.Tool, c.tool)
	}
	if c.namesTool(r.Tool) && c.matchesParameter(r.Specifier) {
		return true
	}
	switch r.Tool {
	case "Read", "Grep", "Glob", "LSP":
		return c.restrictsPath(r, c.readPaths(r.Tool))
	case "Edit", "Write", "NotebookEdit", "MultiEdit":
		return c.restrictsPath(r, c.writePaths(r.Tool))
	case "Bash", "Monitor", "PowerShell":
		return c.shell != nil && (c.tool == r.Tool || r.Tool == "Bash") && restrictsScript(c.shell, r.Specifier)
	}
	return c.namesTool(r.Tool) && c.matchesMainField(r.Specifier, true)
}

// allowedBy reports whether an allow rule applies to a call that is not a shell
// command: each part, in each form, must match.
func (c *call) allowedBy(r Rule) bool {
	r.Tool = toolName(r.Tool)
	if r.bare() {
		return c.sameTool(r.Tool) || matchesServer(r.Tool, c.tool) || globAllowed(r.Tool) && glob(r.Tool, c.tool) ||
			r.Tool == "Edit" && c.effect == readEffect
	}
	switch c.effect {
	case readEffect, editEffect:
		if !c.pathRuleApplies(r.Tool) || len(c.targets) == 0 {
			return false
		}
		return !slices.ContainsFunc(c.targets, func(t string) bool { return !c.allowsPath(r, t) })
	}
	return r.Tool == c.tool && c.matchesMainField(r.Specifier, false)
}

// sameTool reports whether a rule without a specifier applies to this tool. Read
// stands for all tools that read, Edit for all that edit, Bash also for Monitor.
func (c *call) sameTool(name string) bool {
	return name == c.tool || name == "Read" && c.effect == readEffect || name == "Edit" && c.effect == editEffect || name == "Bash" && c.tool == "Monitor"
}

func (c *call) namesTool(name string) bool { return name == c.tool || glob(name, c.tool) }

// pathRuleApplies reports whether path rules for the tool name, in an allow list, apply
// to this tool.
func (c *call) pathRuleApplies(name string) bool {
	switch name {
	case "Read":
		return c.effect == readEffect
	case "Edit":
		return c.effect == editEffect || c.effect == readEffect
	}
	return name == c.tool
}

// matchesServer matches "mcp__server" with the tools of that server.
func matchesServer(rule, tool string) bool {
	rest, ok := strings.CutPrefix(rule, "mcp__")
	return ok && rest != "" && !strings.Contains(rest, "__") && !strings.Contains(rest, "*") && strings.HasPrefix(tool, rule+"__")
}

// globAllowed reports whether an allow rule may contain a wildcard: only after a
// server's full name.
func globAllowed(tool string) bool {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	server, _, ok2 := strings.Cut(rest, "__")
	return ok && ok2 && server != "" && !strings.Contains(server, "*")
}

// matchesParameter matches "param:value" with a top-level field of the input, except
// for fields that have rules of their own.
func (c *call) matchesParameter(spec string) bool {
	key, value, ok := strings.Cut(spec, ":")
	if !ok || key == "" || strings.ContainsAny(key, " /*.") {
		return false
	}
	got, ok := c.scalar(key)
	return ok && !isMainField(key) && glob(strings.TrimSpace(value), got)
}

// matchesMainField matches a specifier with the main field of the tool. wide is set for
// deny and ask rules, which match more.
func (c *call) matchesMainField(spec string, wide bool) bool {
	switch c.tool {
	case "Agent":
		kind := c.text("subagent_type")
		if kind == "" {
			kind = "general-purpose"
		}
		return kind == spec || wide && globFold(foldName(spec), foldName(kind))
	case "SendMessage":
		to := c.text("to")
		return to == spec || wide && globFold(spec, to)
	case "Skill":
		text := strings.TrimSpace(c.text("skill") + " " + c.text("args"))
		return matchCommand(spec, text) || wide && matchCommand(spec, c.text("skill"))
	case "WebFetch":
		return matchDomain(spec, c.text("url"), wide)
	}
	return false
}

// foldName removes what the lookup of agent types ignores.
func foldName(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(s))
}

// matchDomain matches "domain:host". A URL whose host is not certain matches no
// allow rule and every deny rule.
func matchDomain(spec, raw string, wide bool) bool {
	pattern, ok := strings.CutPrefix(spec, "domain:")
	if !ok {
		return false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(raw, "\\ \t\r\n") {
		return wide
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	pattern = strings.ToLower(strings.TrimSpace(pattern))
	if pattern == "*" {
		return true
	}
	if parent, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+parent)
	}
	ps, hs := strings.Split(pattern, "."), strings.Split(host, ".")
	return len(ps) == len(hs) && !slices.ContainsFunc(zip(ps, hs), func(x [2]string) bool { return !glob(x[0], x[1]) })
}

func zip(a, b []string) [][2]string {
	out := make([][2]string, len(a))
	for i := range a {
		out[i] = [2]string{a[i], b[i]}
	}
	return out
}

// readPaths returns the paths to which a Read rule in a deny or ask list applies.
// A file that must not be read must not be written either.
func (c *call) readPaths(rule string) []string {
	switch c.effect {
	case readEffect, editEffect:
		if rule == "Read" || rule == c.tool {
			return c.targets
		}
	case runEffect:
		if rule == "Read" {
			return c.shellPaths()
		}
	}
	return nil
}

func (c *call) writePaths(rule string) []string {
	switch {
	case c.effect == editEffect && (rule == "Edit" || rule == c.tool):
		return c.targets
	case c.effect == runEffect && rule == "Edit":
		return append(c.shellWrites(), treeChanges(c)...)
	}
	return nil
}

func (l location) restrictsPath(r Rule, paths []string) bool {
	ps := l.restricting(r)
	return slices.ContainsFunc(paths, func(path string) bool { return l.matchesAny(ps, path) })
}

func (l location) matchesAny(ps []pathPattern, path string) bool {
	for _, f := range l.forms(path) {
		if slices.ContainsFunc(ps, func(p pathPattern) bool { return p.matches(f, l.foldCase) }) {
			return true
		}
	}
	return false
}

// restricting returns the patterns of a deny or ask rule.
func (l location) restricting(r Rule) []pathPattern {
	from := append([]string{filepath.Clean("/" + l.cwd)}, l.roots()...)
	if r.Base != "" {
		from = append(from, r.Base)
	}
	ps := l.patterns(r.Specifier, l.base(r), from)
	if r.Base != "" && len(l.dirs) > 0 { // a worktree has the files of its checkout
		ps = append(ps, l.patterns(r.Specifier, l.dirs[0], nil)...)
	}
	if !strings.HasPrefix(r.Specifier, "/") && !strings.HasPrefix(r.Specifier, "~") && !strings.HasPrefix(r.Specifier, "./") {
		ps = append(ps, atAnyDepth(ps)...)
	}
	return ps
}

// atAnyDepth returns "**/dir/**" for each "dir/**": deny and ask rules apply to a dir
// at any depth.
func atAnyDepth(ps []pathPattern) []pathPattern {
	var out []pathPattern
	for _, p := range ps {
		if len(p.parts) == 2 && p.parts[1] == "**" && p.parts[0] != "**" {
			out = append(out, pathPattern{p.base, append([]string{"**"}, p.parts...)})
		}
	}
	return out
}

func (l location) allowsPath(r Rule, path string) bool {
	from := []string{filepath.Clean("/" + l.cwd)}
	if len(l.dirs) > 0 {
		from = l.forms(filepath.Clean(l.dirs[0]))
	}
	ps := l.patterns(r.Specifier, l.base(r), from)
	for _, f := range l.forms(path) {
		if !slices.ContainsFunc(ps, func(p pathPattern) bool { return p.matches(f, l.foldCase) }) {
			return false
		}
	}
	return true
}

// base returns the directory that patterns with one leading slash start from.
func (l location) base(r Rule) string {
	switch {
	case r.Base != "":
		return r.Base
	case len(l.dirs) > 0:
		return l.dirs[0]
	}
	return l.cwd
}
