package permission

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// touches reports whether a deny or ask rule applies: it is enough that any
// part of the call, in any form, matches.
func (c *call) touches(r Rule) bool {
	r.Tool = toolName(r.Tool)
	if r.bare() {
		return c.sameTool(r.Tool) || glob(r.Tool, c.tool) || mcpServer(r.Tool, c.tool)
	}
	if c.namesTool(r.Tool) && c.parameter(r.Specifier) {
		return true
	}
	switch r.Tool {
	case "Read", "Grep", "Glob", "LSP":
		return c.touchesPath(r, c.readPaths(r.Tool))
	case "Edit", "Write", "NotebookEdit", "MultiEdit":
		return c.touchesPath(r, c.writePaths(r.Tool))
	case "Bash", "Monitor", "PowerShell":
		return c.shell != nil && (c.tool == r.Tool || r.Tool == "Bash") && touchesScript(c.shell, r.Specifier)
	}
	return c.namesTool(r.Tool) && c.specified(r.Specifier, true)
}

// covers reports whether an allow rule applies to a call that is not a shell
// command: every part, in every form, must match.
func (c *call) covers(r Rule) bool {
	r.Tool = toolName(r.Tool)
	if r.bare() {
		return c.sameTool(r.Tool) || mcpServer(r.Tool, c.tool) || allowGlob(r.Tool) && glob(r.Tool, c.tool) ||
			r.Tool == "Edit" && c.class == reads
	}
	switch c.class {
	case reads, edits:
		if !c.speaksFor(r.Tool) || len(c.targets) == 0 {
			return false
		}
		return !slices.ContainsFunc(c.targets, func(t string) bool { return !c.coversPath(r, t) })
	}
	return r.Tool == c.tool && c.specified(r.Specifier, false)
}

// sameTool reports whether a bare rule for name is about this tool: Read is for
// all readers, Edit for all editors, Bash for Monitor too.
func (c *call) sameTool(name string) bool {
	return name == c.tool || name == "Read" && c.class == reads || name == "Edit" && c.class == edits || name == "Bash" && c.tool == "Monitor"
}

func (c *call) namesTool(name string) bool { return name == c.tool || glob(name, c.tool) }

// speaksFor reports whether a path rule of an allow list is about this tool.
func (c *call) speaksFor(name string) bool {
	switch name {
	case "Read":
		return c.class == reads
	case "Edit":
		return c.class == edits || c.class == reads
	}
	return name == c.tool
}

// mcpServer matches "mcp__server" with the tools of that server.
func mcpServer(rule, tool string) bool {
	rest, ok := strings.CutPrefix(rule, "mcp__")
	return ok && rest != "" && !strings.Contains(rest, "__") && !strings.Contains(rest, "*") && strings.HasPrefix(tool, rule+"__")
}

// allowGlob reports whether an allow rule may hold a wildcard: only behind a
// server that is spelled out.
func allowGlob(tool string) bool {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	server, _, ok2 := strings.Cut(rest, "__")
	return ok && ok2 && server != "" && !strings.Contains(server, "*")
}

// parameter matches "param:value" with a top-level field of the input. The
// fields that have rules of their own do not count.
func (c *call) parameter(spec string) bool {
	key, value, ok := strings.Cut(spec, ":")
	if !ok || key == "" || strings.ContainsAny(key, " /*.") {
		return false
	}
	switch strings.ToLower(key) {
	case "command", "file_path", "path", "notebook_path", "url":
		return false
	}
	got, ok := c.scalar(key)
	return ok && glob(strings.TrimSpace(value), got)
}

// specified matches the specifier of a tool with one main field. wide is set
// for deny and ask rules.
func (c *call) specified(spec string, wide bool) bool {
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

// foldName drops what the lookup of agents ignores.
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

// readPaths lists what a Read rule in a deny or ask list is about. Whoever may
// not read a file may not write it either.
func (c *call) readPaths(rule string) []string {
	switch c.class {
	case reads, edits:
		if rule == "Read" || rule == c.tool {
			return c.targets
		}
	case runs:
		if rule == "Read" {
			return c.shellPaths()
		}
	}
	return nil
}

func (c *call) writePaths(rule string) []string {
	switch {
	case c.class == edits && (rule == "Edit" || rule == c.tool):
		return c.targets
	case c.class == runs && rule == "Edit":
		return c.shellWrites()
	}
	return nil
}

func (l place) touchesPath(r Rule, paths []string) bool {
	from := append([]string{filepath.Clean("/" + l.cwd)}, l.roots()...)
	if r.Base != "" {
		from = append(from, r.Base)
	}
	ps := l.patterns(r.Specifier, l.base(r), from)
	if !strings.HasPrefix(r.Specifier, "/") && !strings.HasPrefix(r.Specifier, "~") && !strings.HasPrefix(r.Specifier, "./") {
		ps = append(ps, anyDepth(ps)...)
	}
	for _, path := range paths {
		for _, f := range l.forms(path) {
			if slices.ContainsFunc(ps, func(p pathPattern) bool { return p.matches(f, l.foldCase) }) {
				return true
			}
		}
	}
	return false
}

// anyDepth widens "dir/**" to a dir at any depth, as deny and ask rules mean it.
func anyDepth(ps []pathPattern) []pathPattern {
	var out []pathPattern
	for _, p := range ps {
		if len(p.parts) == 2 && p.parts[1] == "**" && p.parts[0] != "**" {
			out = append(out, pathPattern{p.base, append([]string{"**"}, p.parts...)})
		}
	}
	return out
}

func (l place) coversPath(r Rule, path string) bool {
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

// base is where patterns with one leading slash start.
func (l place) base(r Rule) string {
	switch {
	case r.Base != "":
		return r.Base
	case len(l.dirs) > 0:
		return l.dirs[0]
	}
	return l.cwd
}
