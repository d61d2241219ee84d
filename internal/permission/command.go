package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/shell"
)

// maxSuffixes limits at how many words of a piece a rule is tried.
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

// restrictsScript reports whether the specifier of a deny or ask rule matches any
// simple command of s in any of its forms.
func restrictsScript(s *shell.Script, spec string) bool {
	if matchCommand(spec, strings.TrimSpace(s.Text)) {
		return true
	}
	if slices.ContainsFunc(s.Commands, func(c shell.Command) bool { return restrictsCommand(&c, spec) }) {
		return true
	}
	if s.Err == nil && s.Opaque == "" {
		return false
	}
	return slices.ContainsFunc(s.Readings(), func(text string) bool { return mayRestrictText(text, spec) })
}

func restrictsCommand(c *shell.Command, spec string) bool {
	for _, form := range c.Forms() {
		if len(form) > 0 && (matchCommand(spec, strings.Join(form, " ")) ||
			matchCommand(spec, strings.Join(append([]string{path.Base(form[0])}, form[1:]...), " "))) {
			return true
		}
	}
	return false
}

// mayRestrictText tries spec at every word of a command that cannot be parsed
// completely. It may match too much, never too little.
func mayRestrictText(text, spec string) bool {
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

// shellPaths returns each path that words and redirections of the command may name.
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

// paths returns the path that w names in each directory where cmd may run.
func (l location) paths(cmd *shell.Command, w shell.Word) []string {
	if w.Text == "" || strings.ContainsAny(w.Text, shell.ExpansionMarks) {
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

// shellWrites returns the files that the command is known to write.
func (c *call) shellWrites() []string {
	var out []string
	for i := range c.shell.Commands {
		out = append(out, c.commandWrites(&c.shell.Commands[i])...)
	}
	return out
}

// commandWrites returns the files that a simple command is known to write.
func (l location) commandWrites(cmd *shell.Command) []string {
	var out []string
	for _, r := range cmd.Redirects {
		if r.Writes() {
			out = append(out, l.paths(cmd, r.Target)...)
		}
	}
	for _, w := range cmd.Written() {
		out = append(out, l.paths(cmd, w)...)
	}
	return out
}

// harmlessCommand allows a command of which no part needs a rule.
func (c *call) harmlessCommand() (Decision, bool) {
	if c.shell.TooLong || len(c.shell.Commands) == 0 {
		return Decision{}, false
	}
	by := c.harmlessBy()
	return Decision{Behavior: Allow, Rule: by, Reason: "every part of the command is harmless here"}, by != ""
}

// harmlessBy returns why no part of the command needs a rule, or "".
func (c *call) harmlessBy() string {
	by := onlyReads
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		switch {
		case cmd.Hidden || c.readOnly(cmd):
		case c.edits(cmd):
			by = onlyEdits
		default:
			by = ""
		}
		if by == "" {
			break
		}
	}
	if by != "" && c.shell.Opaque == "" {
		return by
	}
	if c.likelyReads() {
		return onlyReads
	}
	return ""
}

// allowedCommand allows a command of which each part is harmless or has a rule.
func (c *call) allowedCommand() (Decision, bool) {
	if c.shell.TooLong || len(c.shell.Commands) == 0 {
		return Decision{}, false
	}
	if r, ok := c.bareRule(); ok {
		return c.decideByRule(Allow, "allowed", r), true
	}
	if c.shell.Opaque != "" {
		return Decision{Behavior: Ask, Rule: noRule, Reason: "rules for parts do not cover this command: " + c.shell.Opaque}, true
	}
	var used, sources []string
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if cmd.Hidden || c.readOnly(cmd) || c.edits(cmd) {
			continue
		}
		rule, ok := c.ruleFor(cmd)
		if !ok || !c.redirectsAllowed(cmd) {
			return Decision{Behavior: Ask, Rule: noRule, Reason: "no rule allows " + partOf(c.shell, cmd)}, true
		}
		if rule.Tool != "" && !slices.Contains(used, rule.String()) {
			used, sources = append(used, rule.String()), append(sources, rule.Source)
		}
	}
	return Decision{Behavior: Allow, Rule: strings.Join(used, ", "), Source: strings.Join(slices.Compact(sources), ", "), Reason: "every part of the command is allowed"}, true
}

// partOf names one of the commands of a script.
func partOf(s *shell.Script, cmd *shell.Command) string {
	if len(s.Commands) == 1 {
		return cmd.String()
	}
	return "the part " + cmd.String()
}

// profile returns what the command is held to: to reading, or to changing the working
// directories, if it was allowed for that and no rule allows it besides. A write elsewhere
// is one that a rule allows.
func (c *call) profile(d Decision) sandbox.Name {
	switch {
	case d.Behavior != Allow || c.ruledWhole():
	case d.Rule == onlyReads:
		return sandbox.Inspect
	case d.Rule == onlyEdits && !slices.ContainsFunc(c.shell.Commands, c.redirectsElsewhere):
		return sandbox.Edit
	}
	return sandbox.Open
}

// redirectsElsewhere reports whether the command writes by a redirection outside of the
// working directories, for which there is a rule.
func (l location) redirectsElsewhere(cmd shell.Command) bool {
	return slices.ContainsFunc(cmd.Redirects, func(r shell.Redirect) bool {
		return r.Writes() && !l.every(&cmd, r.Target, l.inWorkingDirs)
	})
}

// ruledWhole reports whether rules allow every part of the command.
func (c *call) ruledWhole() bool {
	if _, ok := c.bareRule(); ok {
		return true
	}
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if rule, _ := c.ruleFor(cmd); !cmd.Hidden && (rule.Tool == "" || !c.redirectsAllowed(cmd)) {
			return false
		}
	}
	return true
}

// bareRule returns the rule that allows every shell command, unless the command
// writes files outside of the working directories.
func (c *call) bareRule() (Rule, bool) {
	i := slices.IndexFunc(c.policy.Allow, func(r Rule) bool { return r.bare() && c.sameTool(r.Tool) })
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
	return c.policy.Allow[i], true
}

// ruleFor returns the allow rule for a simple command. A part that runs no program
// needs none: its rule has no tool.
func (c *call) ruleFor(cmd *shell.Command) (Rule, bool) {
	if !shell.SafeAssigns(cmd.Assigns) {
		return Rule{}, false
	}
	if len(cmd.Words) == 0 {
		return Rule{}, true
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
		for _, r := range c.policy.Allow {
			if !r.bare() && c.sameTool(r.Tool) && matchCommand(r.Specifier, text) && !(strings.Contains(r.Specifier, "*") && shell.RunsPrograms(words)) {
				return r, true
			}
		}
	}
	return Rule{}, false
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

// mayWrite reports whether a redirection of cmd may write to w.
func (c *call) mayWrite(cmd *shell.Command, w shell.Word, insideIsEnough bool) bool {
	return c.every(cmd, w, func(p string) bool {
		if insideIsEnough && c.inWorkingDirs(p) || c.policy.Mode == AcceptEdits && mayEditUnasked(c, p) {
			return true
		}
		return editRuleCovers(c, p)
	})
}

func (c *call) mayRead(cmd *shell.Command, w shell.Word) bool {
	return c.every(cmd, w, func(p string) bool {
		return c.inWorkingDirs(p) || slices.ContainsFunc(c.policy.Allow, func(r Rule) bool {
			return (r.Tool == "Read" || r.Tool == "Edit") && (r.bare() || c.allowsPath(r, p))
		})
	})
}

// every reports whether ok holds for each path that w may name. It does not hold
// for a word that the shell may change.
func (l location) every(cmd *shell.Command, w shell.Word, ok func(path string) bool) bool {
	if !w.Fixed() || strings.HasPrefix(w.Text, "/dev/") && !shell.HarmlessDevice(w) {
		return false
	}
	paths := l.paths(cmd, w)
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return !ok(p) })
}
