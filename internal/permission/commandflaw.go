package permission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// braces matches a list in braces, which a shell would expand.
var braces = regexp.MustCompile(`\{[^{}]*,[^{}]*\}`)

// commandFlaw is Flaw for a rule about commands. isPair states that its specifier has the
// form of a parameter and its value. An allow rule may be the text of one command, as an
// answer has allowed it.
func (r Rule) commandFlaw(list Behavior, isPair bool) string {
	spec, isPrefix := strings.CutSuffix(r.Specifier, ":*")
	program, _, _ := strings.Cut(r.Specifier, " ")
	key, value, _ := strings.Cut(spec, ":")
	switch {
	case strings.HasPrefix(spec, "^"), strings.HasPrefix(spec, "/^"), strings.HasPrefix(spec, "/") && strings.HasSuffix(spec, "/"):
		return fmt.Sprintf("%s matches nothing that was meant: it is no regular expression; * stands for any text, as in %s(git *)", r, r.Tool)
	case strings.Contains(spec, ":*"):
		return fmt.Sprintf("%s matches nothing that was meant: :* has its meaning at the end only; write a rule for each command", r)
	case braces.MatchString(program), list != Allow && braces.MatchString(spec):
		return fmt.Sprintf("%s matches nothing that was meant: braces stand for themselves; write a rule for each command", r)
	case list == Allow && !isPrefix && strings.Contains(spec, " "):
		return ""
	case !isPrefix && strings.HasSuffix(strings.TrimRight(spec, " *"), ":"):
		return fmt.Sprintf("%s matches nothing that was meant: write %s(%s:*)", r, r.Tool, strings.TrimRight(spec, " *:"))
	case isPair && !isPrefix && !isMainField(key) && !slices.Contains(commandFields, key):
		return fmt.Sprintf("%s matches nothing that was meant: %s has no parameter %s; write %s(%s)", r, r.Tool, key, r.Tool, key+" "+strings.TrimSpace(value))
	}
	return ""
}

// commandFields are the parameters of tools that run commands, besides the command.
var commandFields = []string{"description", "timeout", "run_in_background", "dangerouslyDisableSandbox", "persistent", "timeout_ms", "shell"}
