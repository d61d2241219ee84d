package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
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

// touchesScript reports whether a deny or ask specifier matches some simple
// command, in any of its forms.
func touchesScript(s *shell.Script, spec string) bool {
	if matchCommand(spec, strings.TrimSpace(s.Text)) {
		return true
	}
	if slices.ContainsFunc(s.Commands, func(c shell.Command) bool { return touchesCommand(&c, spec) }) {
		return true
	}
	if s.Err == nil && s.Opaque == "" {
		return false
	}
	return slices.ContainsFunc(s.Readings(), func(text string) bool { return mayTouch(text, spec) })
}

func touchesCommand(c *shell.Command, spec string) bool {
	for _, form := range c.Forms() {
		if len(form) > 0 && (matchCommand(spec, strings.Join(form, " ")) ||
			matchCommand(spec, strings.Join(append([]string{path.Base(form[0])}, form[1:]...), " "))) {
			return true
		}
	}
	return false
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
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		for _, w := range cmd.Words[min(1, len(cmd.Words)):] {
			out = append(out, c.paths(cmd, shell.OptionValue(w))...)
		}
		for _, r := range cmd.Redirects {
			out = append(out, c.paths(cmd, r.Target)...)
		}
	}
	return out
}

// paths returns what a word means in each directory the command may run in.
func (l place) paths(cmd *shell.Command, w shell.Word) []string {
	if w.Text == "" || strings.ContainsAny(w.Text, shell.Marks) {
		return nil
	}
	if strings.HasPrefix(w.Text, "/") {
		return []string{shell.Absolute(w.Text, "/", l.home)}
	}
	var out []string
	for _, d := range cmd.Dirs {
		out = append(out, shell.Absolute("./"+w.Text, d, ""))
	}
	return out
}

// shellWrites lists the files a command is known to write.
func (c *call) shellWrites() []string {
	var out []string
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		for _, r := range cmd.Redirects {
			if r.Writes() {
				out = append(out, c.paths(cmd, r.Target)...)
			}
		}
		for _, w := range cmd.Written() {
			out = append(out, c.paths(cmd, w)...)
		}
	}
	return out
}

// harmlessCommand allows a command whose every part needs no rule.
func (c *call) harmlessCommand() (Decision, bool) {
	if c.shell.TooLong || c.shell.Opaque != "" || len(c.shell.Commands) == 0 {
		return Decision{}, false
	}
	by := "read-only command"
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if cmd.Hidden {
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
	if c.shell.TooLong || len(c.shell.Commands) == 0 {
		return Decision{}, false
	}
	if r, ok := c.bareRule(); ok {
		return c.ruled(Allow, "allowed", r), true
	}
	if c.shell.Opaque != "" {
		return Decision{Ask, "no rule", "rules for parts do not cover this command: " + c.shell.Opaque}, true
	}
	var used []string
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if cmd.Hidden || c.readOnly(cmd) || c.p.Mode == AcceptEdits && c.editsInside(cmd) {
			continue
		}
		rule, ok := c.ruleFor(cmd)
		if !ok || !c.redirectsAllowed(cmd) {
			return Decision{Ask, "no rule", "no rule allows the part " + cmd.String()}, true
		}
		if rule != "" && !slices.Contains(used, rule) {
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
	for j := range c.shell.Commands {
		cmd := &c.shell.Commands[j]
		for _, r := range cmd.Redirects {
			if r.Writes() && !c.mayWrite(cmd, r.Target, true) {
				return Rule{}, false
			}
		}
	}
	return c.p.Allow[i], true
}

// ruleFor finds the allow rule for one simple command. A part that runs no
// command needs none, and gets "".
func (c *call) ruleFor(cmd *shell.Command) (string, bool) {
	if !shell.SafeAssigns(cmd.Assigns) {
		return "", false
	}
	if len(cmd.Words) == 0 {
		return "", true
	}
	stripped, assigns := shell.Strip(cmd.Words)
	forms := [][]shell.Word{cmd.Words}
	if shell.SafeAssigns(assigns) {
		forms = append(forms, stripped)
	}
	for _, words := range forms {
		if len(words) == 0 || !words[0].Fixed() {
			continue
		}
		text := (&shell.Command{Words: words}).String()
		for _, r := range c.p.Allow {
			if !r.bare() && c.sameTool(r.Tool) && matchCommand(r.Specifier, text) && !(strings.Contains(r.Specifier, "*") && shell.RunsOthers(words)) {
				return r.String(), true
			}
		}
	}
	return "", false
}

func (c *call) redirectsAllowed(cmd *shell.Command) bool {
	for _, r := range cmd.Redirects {
		if r.Writes() && !c.mayWrite(cmd, r.Target, false) {
			return false
		}
		if r.Reads() && !c.mayRead(cmd, r.Target) {
			return false
		}
	}
	return true
}

// mayWrite reports whether a redirection may change its target.
func (c *call) mayWrite(cmd *shell.Command, w shell.Word, insideIsEnough bool) bool {
	return c.every(cmd, w, func(p string) bool {
		if (insideIsEnough || c.p.Mode == AcceptEdits) && c.inside(p) {
			return true
		}
		return slices.ContainsFunc(c.p.Allow, func(r Rule) bool { return r.Tool == "Edit" && (r.bare() || c.coversPath(r, p)) })
	})
}

func (c *call) mayRead(cmd *shell.Command, w shell.Word) bool {
	return c.every(cmd, w, func(p string) bool {
		return c.inside(p) || slices.ContainsFunc(c.p.Allow, func(r Rule) bool {
			return (r.Tool == "Read" || r.Tool == "Edit") && (r.bare() || c.coversPath(r, p))
		})
	})
}

// every reports whether ok holds for a word in every directory the command may
// run in; it does not for a word that is not certain.
func (l place) every(cmd *shell.Command, w shell.Word, ok func(path string) bool) bool {
	if !w.Fixed() || strings.HasPrefix(w.Text, "/dev/") && !shell.HarmlessDevice(w) {
		return false
	}
	paths := l.paths(cmd, w)
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return !ok(p) })
}
