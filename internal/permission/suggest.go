package permission

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// maxSuggested is the most rules that one answer may add.
const maxSuggested = 5

// Suggest returns allow rules for calls like r, in the form that ParseRule parses,
// such as "Bash(git diff:*)". With them Decide allows r. If no rule can do that, as
// for a critical removal or in mode plan, it returns none.
func Suggest(p Policy, r Request) []string {
	given := p.Mode
	p.setMode()
	c, err := newCall(&p, &r)
	if err != nil {
		return nil
	}
	var texts []string
	for _, s := range c.suggestions() {
		if !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	if len(texts) == 0 || len(texts) > maxSuggested {
		return nil
	}
	p.Allow = slices.Clone(p.Allow)
	for _, text := range texts {
		rule, err := ParseRule(text)
		if err != nil || rule.String() != text {
			return nil
		}
		p.Allow = append(p.Allow, rule)
	}
	p.Mode = given
	if Decide(p, r).Behavior != Allow {
		return nil
	}
	return texts
}

func (c *call) suggestions() []string {
	switch c.effect {
	case readEffect:
		return c.pathSuggestions("Read")
	case editEffect:
		return c.pathSuggestions("Edit")
	case runEffect:
		return c.shellSuggestions()
	case fetchEffect:
		u, err := url.Parse(c.text("url"))
		if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), "*") {
			return nil
		}
		return []string{c.tool + "(domain:" + strings.ToLower(u.Hostname()) + ")"}
	}
	switch c.tool {
	case "Skill":
		if name := c.text("skill"); name != "" && !strings.ContainsAny(name, "*()") {
			return []string{"Skill(" + name + ")"}
		}
		return nil
	case "AskUserQuestion":
		return nil
	}
	return []string{c.tool}
}

// pathSuggestions returns rules for the files alone.
func (c *call) pathSuggestions(tool string) []string {
	var out []string
	for _, t := range c.targets {
		for _, f := range c.forms(t) {
			if strings.ContainsAny(f, `*?[]\()`) || f == "/" {
				return nil // a pattern would mean something else
			}
			out = append(out, tool+"(/"+f+")")
		}
	}
	return out
}

// shellSuggestions returns rules for the parts of a command that no rule allows yet.
func (c *call) shellSuggestions() []string {
	if c.shell.Err != nil || c.shell.TooLong || c.shell.Opaque != "" {
		return nil
	}
	var out []string
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if cmd.Hidden || c.readOnly(cmd) || c.policy.Mode == AcceptEdits && c.editsInWorkingDirs(cmd) {
			continue
		}
		for _, r := range cmd.Redirects {
			if r.Writes() && !c.mayWrite(cmd, r.Target, false) {
				out = append(out, c.redirectSuggestions(cmd, r.Target)...)
			}
		}
		if _, ok := c.ruleFor(cmd); ok {
			continue
		}
		s := c.commandSuggestion(cmd)
		if s == "" {
			return nil
		}
		out = append(out, s)
	}
	return out
}

func (c *call) redirectSuggestions(cmd *shell.Command, target shell.Word) []string {
	var out []string
	for _, p := range c.paths(cmd, target) {
		if strings.ContainsAny(p, `*?[]\()`) {
			return nil
		}
		out = append(out, "Edit(/"+p+")")
	}
	return out
}

// subcommand matches the word after a program's name that selects what it does.
var subcommand = regexp.MustCompile(`^[a-z][a-z-]*$`)

// commandSuggestion returns a rule for a simple command: for its program and
// subcommand if these limit what it does, else for exactly this command.
func (c *call) commandSuggestion(cmd *shell.Command) string {
	words, assigns := shell.Strip(cmd.Words)
	if !shell.SafeAssigns(assigns) || len(words) == 0 || !words[0].Fixed() {
		return ""
	}
	text := (&shell.Command{Words: words}).String()
	if len(words) > 1 && words[1].Fixed() && subcommand.MatchString(words[1].Text) && isSpecific(words[0].Text, words[1].Text) {
		return c.tool + "(" + words[0].Text + " " + words[1].Text + ":*)"
	}
	if strings.ContainsAny(text, "*\n"+shell.ExpansionMarks) || strings.TrimSpace(text) != text {
		return "" // a rule would mean something else
	}
	return c.tool + "(" + text + ")"
}

// isSpecific reports whether a subcommand limits what the program does, whatever
// arguments follow. One that runs the program in its arguments does not.
func isSpecific(program, sub string) bool {
	switch program {
	case "git":
		return !slices.Contains([]string{"bisect", "config", "filter-branch", "rebase", "submodule", "difftool", "mergetool", "clone"}, sub)
	case "go":
		return slices.Contains([]string{"build", "test", "vet", "mod", "get", "fmt", "list", "doc", "install"}, sub)
	case "cargo":
		return slices.Contains([]string{"build", "test", "check", "clippy", "fmt", "doc", "add", "update"}, sub)
	case "npm", "pnpm", "yarn":
		return slices.Contains([]string{"install", "ci", "test", "add", "remove", "update", "audit", "outdated"}, sub)
	case "gh":
		return slices.Contains([]string{"pr", "issue", "run", "release", "repo", "workflow"}, sub)
	case "docker":
		return slices.Contains([]string{"ps", "images", "logs", "inspect", "pull", "build", "stop"}, sub)
	case "kubectl":
		return slices.Contains([]string{"get", "describe", "logs", "top"}, sub)
	case "pip", "pip3", "uv":
		return slices.Contains([]string{"install", "list", "show", "freeze", "sync"}, sub)
	}
	return false
}

// Describe returns in words what rules of Suggest allow.
func Describe(texts []string) string {
	var words []string
	for _, text := range texts {
		rule, err := ParseRule(text)
		if err != nil {
			return strings.Join(texts, ", ")
		}
		words = append(words, rule.describe())
	}
	return strings.Join(words, "; ")
}

func (r Rule) describe() string {
	path := strings.TrimPrefix(r.Specifier, "/")
	switch {
	case r.Specifier == "":
		return "every call of " + r.Tool
	case r.Tool == "Edit":
		return "every change of " + path
	case r.Tool == "Read":
		return "every reading of " + path
	case r.Tool == "Bash" && strings.HasSuffix(r.Specifier, ":*"):
		return "every command that begins with " + strings.TrimSuffix(r.Specifier, ":*")
	case r.Tool == "Bash":
		return "the command " + r.Specifier
	}
	return r.String()
}
