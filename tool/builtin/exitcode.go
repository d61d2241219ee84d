package builtin

import (
	"slices"
	"strings"
)

// meaning explains exit code 1 of commands for which it is an answer and no
// failure. It is "" where the code is a failure, or where the command is too
// involved to say.
func meaning(command string, code int) string {
	if code != 1 {
		return ""
	}
	parts, ok := lastList(command)
	if !ok || len(parts) == 0 {
		return ""
	}
	said := ""
	for i, part := range parts {
		words := strings.Fields(part)
		why := answers(words)
		last := i == len(parts)-1
		if why == "" && (last || !harmless(words)) {
			return ""
		}
		said = why
	}
	return said
}

// answers tells what exit code 1 says of a simple command, "" for a failure.
func answers(words []string) string {
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.ContainsAny(words[0], "'\"") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if name == "git" && len(words) > 1 {
		name = "git " + words[1]
	}
	switch name {
	case "grep", "egrep", "fgrep", "rg", "git grep":
		return "no matches"
	case "diff", "git diff":
		return "the files differ"
	case "test", "[", "[[":
		return "the condition is false"
	case "find":
		return "some folders could not be read"
	}
	return ""
}

// harmless commands do not fail where a chain goes on to the last one.
func harmless(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{"cd", "echo", "true", ":", "printf"}, words[0])
}

// lastList returns the commands whose exit code decides that of the whole:
// the && and || chain after the last ";", "&" or line end, and of each pipe in
// it the last command. It is not ok for quoting left open and for shell
// grammar that decides differently.
func lastList(command string) (parts []string, ok bool) {
	var cur strings.Builder
	quote := byte(0)
	command = strings.TrimRight(command, " \t\n;")
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'':
			cur.WriteByte(c)
			i++
			if i < len(command) {
				cur.WriteByte(command[i])
			}
		case quote != 0:
			if c == quote {
				quote = 0
			}
			cur.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
			cur.WriteByte(c)
		case c == '(' || c == '`' || c == '{' || c == '}' || strings.HasPrefix(command[i:], "<<"):
			return nil, false
		case redirects(command, i):
			cur.WriteByte(c)
		case strings.HasPrefix(command[i:], "&&"), strings.HasPrefix(command[i:], "||"):
			parts = append(parts, cur.String())
			cur.Reset()
			i++
		case c == '|':
			cur.Reset()
		case c == ';' || c == '\n' || c == '&':
			parts = nil
			cur.Reset()
		default:
			cur.WriteByte(c)
		}
	}
	return append(parts, cur.String()), quote == 0
}

// redirects says that the & at i belongs to a redirection, as in 2>&1 or &>.
func redirects(command string, i int) bool {
	if command[i] != '&' {
		return false
	}
	return i > 0 && (command[i-1] == '>' || command[i-1] == '<') || i+1 < len(command) && command[i+1] == '>'
}
