package permission

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxSuffixes bounds how many words of a piece are tried as its beginning.
const maxSuffixes = 1000

// matchCommand matches a specifier of Bash with a command's text. "x:*" at the
// end is "x *"; "x *" matches "x" alone, and otherwise a whole word.
func matchCommand(spec, text string) bool {
	if p, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = p + " *"
	}
	if p, ok := strings.CutSuffix(spec, " *"); ok {
		return glob(p, text) || glob(p+" *", text)
	}
	return glob(spec, text)
}

// touches reports whether a deny or ask specifier matches some simple command,
// in any of its forms.
func (s *script) touches(spec string) bool {
	if matchCommand(spec, strings.TrimSpace(s.text)) {
		return true
	}
	for i := range s.cmds {
		if s.cmds[i].touches(spec) {
			return true
		}
	}
	if s.err == nil && s.opaque == "" {
		return false
	}
	return mayTouch(strings.Map(visible, s.text), spec) || mayTouch(strings.Map(spaced, s.text), spec)
}

func (c *command) touches(spec string) bool {
	for _, form := range c.forms() {
		if len(form) > 0 && (matchCommand(spec, strings.Join(form, " ")) ||
			matchCommand(spec, strings.Join(append([]string{path.Base(form[0])}, form[1:]...), " "))) {
			return true
		}
	}
	return false
}

// certain drops the marks of expansions, as if all of them were empty.
func certain(s string) string { return strings.NewReplacer("\x00", "", "\x01", "").Replace(s) }

// forms returns the words of a command as written, without quotes, and as they
// are if every expansion is empty.
func (c *command) forms() [][]string {
	var shown, bare, empty []string
	for _, w := range c.words {
		shown, bare = append(shown, w.shown()), append(bare, w.bareText())
		if t := certain(w.text); t != "" || w.lit {
			empty = append(empty, t)
		}
	}
	return [][]string{shown, bare, empty}
}

// mayTouch looks for the rule anywhere in the pieces of a command that was not
// understood: better to deny too much.
func mayTouch(text, spec string) bool {
	pieces := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|&\n(){}`<>!", r) })
	for _, p := range pieces {
		words := strings.Fields(strings.NewReplacer(`\`, "", `"`, "", `'`, "").Replace(p))
		p = strings.Join(words, " ")
		for i := 0; i < len(words) && i < maxSuffixes; i++ {
			if matchCommand(spec, p) {
				return true
			}
			p = strings.TrimPrefix(p[len(words[i]):], " ")
		}
	}
	return false
}

// shellPaths lists every path a command's words and redirections may name.
func (c *call) shellPaths() []string {
	var out []string
	for i := range c.shell.cmds {
		cmd := &c.shell.cmds[i]
		for _, w := range cmd.words[min(1, len(cmd.words)):] {
			out = append(out, c.paths(cmd, operand(w))...)
		}
		for _, r := range cmd.redirs {
			out = append(out, c.paths(cmd, r.target)...)
		}
	}
	return out
}

// operand drops the name of a long option that is joined with its value.
func operand(w word) word {
	if strings.HasPrefix(w.text, "-") {
		if _, value, ok := strings.Cut(w.text, "="); ok {
			w.text = value
		}
	}
	return w
}

// paths returns what a word means in each directory the command may run in.
func (c *call) paths(cmd *command, w word) []string {
	if w.text == "" || strings.ContainsAny(w.text, "\x00\x01") {
		return nil
	}
	if strings.HasPrefix(w.text, "/") {
		return []string{absolute(w.text, "/", c.p.Home)}
	}
	var out []string
	for _, d := range cmd.cwds {
		out = append(out, absolute("./"+w.text, d, ""))
	}
	return out
}

// shellWrites lists the files a command is known to write.
func (c *call) shellWrites() []string {
	var out []string
	for i := range c.shell.cmds {
		cmd := &c.shell.cmds[i]
		for _, r := range cmd.redirs {
			if r.writes() {
				out = append(out, c.paths(cmd, r.target)...)
			}
		}
		for _, w := range cmd.written() {
			out = append(out, c.paths(cmd, w)...)
		}
	}
	return out
}

// writes reports a redirection that may change a file.
func (r redirect) writes() bool {
	switch r.op {
	case syntax.RdrIn, syntax.WordHdoc, syntax.DplIn:
		return false
	case syntax.DplOut:
		return strings.Trim(r.target.text, "0123456789-") != ""
	}
	return !harmlessDevice(r.target)
}

func (r redirect) reads() bool { return r.op == syntax.RdrIn && !harmlessDevice(r.target) }

func harmlessDevice(w word) bool {
	switch w.text {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty":
		return w.fixed()
	}
	return false
}

// written returns the operands of a command that are files it changes.
func (c *command) written() []word {
	words, _ := strip(c.words)
	if len(words) == 0 {
		return nil
	}
	switch name := path.Base(words[0].text); name {
	case "rm", "rmdir", "unlink", "shred", "mkdir", "touch", "tee", "truncate", "chmod", "chown", "chgrp", "patch":
		return operandsOf(words)
	case "mv", "cp", "ln", "install", "rsync":
		return withDestination(operandsOf(words))
	case "sed", "perl":
		if slices.ContainsFunc(words[1:], func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "i") }) {
			return operandsOf(words)
		}
	case "dd":
		for _, w := range words[1:] {
			if of, ok := strings.CutPrefix(w.text, "of="); ok {
				w.text = of
				return []word{w}
			}
		}
	}
	return nil
}

// withDestination adds the file that appears if the last operand is a directory.
func withDestination(operands []word) []word {
	if len(operands) < 2 {
		return operands
	}
	last := operands[len(operands)-1]
	for _, w := range operands[:len(operands)-1] {
		into := last
		into.text = last.text + "/" + path.Base(w.text)
		operands = append(operands, into)
	}
	return operands
}

// operandsOf returns the words that are not options, and the values of options
// joined with "=".
func operandsOf(words []word) []word {
	var out []word
	options := true
	for _, w := range words[1:] {
		switch {
		case options && w.text == "--":
			options = false
		case options && strings.HasPrefix(w.text, "-") && w.text != "-":
			if v := operand(w); v.text != w.text {
				out = append(out, v)
			}
		default:
			out = append(out, w)
		}
	}
	return out
}

// harmlessCommand allows a command whose every part needs no rule.
func (c *call) harmlessCommand() (Decision, bool) {
	if c.shell.long || c.shell.opaque != "" || len(c.shell.cmds) == 0 {
		return Decision{}, false
	}
	by := "read-only command"
	for i := range c.shell.cmds {
		cmd := &c.shell.cmds[i]
		if cmd.hidden {
			continue
		}
		switch {
		case c.readOnly(cmd):
		case c.p.Mode == AcceptEdits && c.editsInside(cmd):
			by = "mode acceptEdits"
		default:
			return Decision{}, false
		}
	}
	return Decision{Allow, by, "every part of the command is harmless here"}, true
}

// allowedCommand allows a command whose every part is harmless or has a rule.
func (c *call) allowedCommand() (Decision, bool) {
	if c.shell.long || len(c.shell.cmds) == 0 {
		return Decision{}, false
	}
	if r, ok := c.bareRule(); ok {
		return c.ruled(Allow, "allowed", r), true
	}
	if c.shell.opaque != "" {
		return Decision{Ask, "no rule", "rules for parts do not cover this command: " + c.shell.opaque}, true
	}
	var used []string
	for i := range c.shell.cmds {
		cmd := &c.shell.cmds[i]
		if cmd.hidden || c.readOnly(cmd) || c.p.Mode == AcceptEdits && c.editsInside(cmd) {
			continue
		}
		rule, ok := c.ruleFor(cmd)
		if !ok || !c.redirectsAllowed(cmd) {
			return Decision{Ask, "no rule", "no rule allows the part " + cmd.String()}, true
		}
		if rule != "" && !contains(used, rule) {
			used = append(used, rule)
		}
	}
	return Decision{Allow, strings.Join(used, ", "), "every part of the command is allowed"}, true
}

// bareRule finds a rule for every shell command. It does not cover files
// written outside the working directories.
func (c *call) bareRule() (Rule, bool) {
	i := slices.IndexFunc(c.p.Allow, func(r Rule) bool { return r.bare() && c.sameTool(r.Tool) })
	if i < 0 {
		return Rule{}, false
	}
	for j := range c.shell.cmds {
		cmd := &c.shell.cmds[j]
		for _, r := range cmd.redirs {
			if r.writes() && !c.mayWrite(cmd, r.target, true) {
				return Rule{}, false
			}
		}
	}
	return c.p.Allow[i], true
}

// String shows a command's words as allow rules see them.
func (c *command) String() string {
	out := make([]string, 0, len(c.words))
	for _, w := range c.words {
		out = append(out, w.shown())
	}
	if len(out) == 0 {
		return "with a redirection or an assignment"
	}
	return strings.Join(out, " ")
}

// ruleFor finds the allow rule for one simple command. A part that runs no
// command needs none, and gets "".
func (c *call) ruleFor(cmd *command) (string, bool) {
	if !safeAssigns(cmd.assigns) {
		return "", false
	}
	if len(cmd.words) == 0 {
		return "", true
	}
	stripped, assigns := strip(cmd.words)
	forms := [][]word{cmd.words}
	if safeAssigns(assigns) {
		forms = append(forms, stripped)
	}
	for _, words := range forms {
		if len(words) == 0 || !words[0].fixed() {
			continue
		}
		text := (&command{words: words}).String()
		for _, r := range c.p.Allow {
			if !r.bare() && c.sameTool(r.Tool) && matchCommand(r.Specifier, text) && !evades(r.Specifier, words) {
				return r.String(), true
			}
		}
	}
	return "", false
}

// evades reports commands that run others, which a pattern does not cover.
func evades(spec string, words []word) bool {
	if !strings.Contains(spec, "*") {
		return false
	}
	switch path.Base(words[0].text) {
	case "watch", "setsid", "ionice", "flock":
		return true
	case "find":
		return slices.ContainsFunc(words[1:], func(w word) bool { return !w.lit || actsInFind(w.text) })
	}
	return false
}

// safeAssigns reports variables that cannot change which program runs.
func safeAssigns(as []assign) bool {
	for _, a := range as {
		switch n := a.name; n {
		case "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "NODE_ENV",
			"RUST_BACKTRACE", "RUST_LOG", "GOOS", "GOARCH", "CGO_ENABLED", "PYTHONUNBUFFERED", "DEBUG", "VERBOSE", "DEBIAN_FRONTEND":
		default:
			if !strings.HasPrefix(n, "LC_") && !harmlessVariable(n) {
				return false
			}
		}
	}
	return true
}

// harmlessVariable reports names in lower case, which programs do not read,
// but for proxies.
func harmlessVariable(n string) bool {
	return n != "" && n == strings.ToLower(n) && !strings.HasSuffix(n, "_proxy")
}

func (c *call) redirectsAllowed(cmd *command) bool {
	for _, r := range cmd.redirs {
		if r.writes() && !c.mayWrite(cmd, r.target, false) {
			return false
		}
		if r.reads() && !c.mayRead(cmd, r.target) {
			return false
		}
	}
	return true
}

// mayWrite reports whether a redirection may change its target.
func (c *call) mayWrite(cmd *command, w word, insideIsEnough bool) bool {
	return c.every(cmd, w, func(p string) bool {
		if (insideIsEnough || c.p.Mode == AcceptEdits) && c.inside(p) {
			return true
		}
		return slices.ContainsFunc(c.p.Allow, func(r Rule) bool { return r.Tool == "Edit" && (r.bare() || c.coversPath(r, p)) })
	})
}

func (c *call) mayRead(cmd *command, w word) bool {
	return c.every(cmd, w, func(p string) bool {
		return c.inside(p) || slices.ContainsFunc(c.p.Allow, func(r Rule) bool {
			return (r.Tool == "Read" || r.Tool == "Edit") && (r.bare() || c.coversPath(r, p))
		})
	})
}

// every reports whether ok holds for a word in every directory the command may
// run in; it does not for a word that is not certain.
func (c *call) every(cmd *command, w word, ok func(path string) bool) bool {
	if !w.fixed() || strings.HasPrefix(w.text, "/dev/") && !harmlessDevice(w) {
		return false
	}
	paths := c.paths(cmd, w)
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return !ok(p) })
}
