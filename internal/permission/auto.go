package permission

import (
	"path"
	"slices"
	"strings"
)

// setMode makes the mode valid. For one in which a model is asked, it sets the mode that
// decides before, and removes the rules that are set aside.
func (p *Policy) setMode() {
	p.Mode = validMode(p.Mode)
	if !p.Mode.Judged() {
		return
	}
	p.judge, p.judgeAll = true, p.Mode == Auto
	p.Mode = p.Mode.unjudged()
	p.Allow = slices.DeleteFunc(slices.Clone(p.Allow), Rule.SetAside)
}

// judges reports whether a model may decide about a call that d asks about. Never about
// one for which a rule or a hook asks for a person, that may remove or change what is
// protected, or that cannot be read.
func (p *Policy) judges(c *call, d Decision) bool {
	return d.Rule == noRule && (p.judgeAll || p.judgesTool(c.tool)) && (c.shell == nil || c.shell.Err == nil && !c.shell.TooLong)
}

// judgesTool reports a tool that gives another agent work or text, where a model judges
// such calls.
func (p *Policy) judgesTool(tool string) bool {
	return p.judge && (tool == "Agent" || tool == "SendMessage")
}

// SetAside reports whether an allow rule does not apply in mode auto, as it covers nearly
// anything: a shell as a whole, an interpreter or a program that runs others, agents and
// messages.
func (r Rule) SetAside() bool {
	if r.ForCall {
		return false
	}
	switch toolName(r.Tool) {
	case "Agent", "SendMessage", "Monitor", "PowerShell":
		return true
	case "Bash":
		return r.bare() || runsAnything(r.Specifier)
	}
	return false
}

// runsAnything reports whether a specifier of Bash leaves open which program runs, or
// what an interpreter is given.
func runsAnything(specifier string) bool {
	if prefix, ok := strings.CutSuffix(specifier, ":*"); ok {
		specifier = prefix + " *"
	}
	words := strings.Fields(specifier)
	open := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "*") })
	if open < 0 {
		return false
	}
	var fixed []string // before what is open
	for _, w := range words[:open] {
		if !strings.HasPrefix(w, "-") && (len(fixed) > 0 || !strings.Contains(w, "=")) {
			fixed = append(fixed, w)
		}
	}
	return len(fixed) == 0 || saysNothing(fixed)
}

// saysNothing reports whether the first words of a command leave open what it does.
func saysNothing(words []string) bool {
	program := strings.TrimRight(path.Base(words[0]), "0123456789.")
	switch {
	case slices.Contains(wrappers[:], program):
		return true
	case program == "", slices.Contains(interpreters[:], program):
		return len(words) == 1
	case !slices.Contains(runners[:], program):
		return false
	case len(words) > 1 && slices.Contains([]string{"run", "run-script", "exec", "x", "dlx"}, words[1]):
		return len(words) == 2
	}
	return len(words) == 1
}

// wrappers are programs that run another, which is not their first argument alone.
var wrappers = [...]string{
	"builtin", "busybox", "command", "doas", "env", "eval", "exec", "expect", "gdb", "ionice", "nice", "nohup", "nsenter", "parallel",
	"script", "setsid", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "unshare", "watch", "xargs",
}

// interpreters are programs that run what their first operand, options or input say.
var interpreters = [...]string{
	"", "ash", "awk", "bash", "bunx", "dash", "fish", "gawk", "irb", "java", "jshell", "julia", "ksh", "lua", "mawk", "node", "nodejs", "npx",
	"osascript", "perl", "php", "pipx", "pnpx", "powershell", "pwsh", "pypy", "python", "R", "Rscript", "ruby", "sh", "source", "tclsh",
	"ts-node", "tsx", "uvx", "zsh",
}

// runners are programs of which some subcommands run others.
var runners = [...]string{
	"bun", "bundle", "cargo", "conda", "deno", "docker", "dotnet", "go", "hatch", "nix", "npm", "pipenv", "pnpm", "podman", "poetry", "rye", "uv", "yarn",
}
