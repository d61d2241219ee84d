package builtin

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// meaning explains exit code 1 of commands for which it is an answer and no
// failure. It is "" where the code is a failure, or where the command is too
// involved to say.
func meaning(command string, code int) string {
	if code != 1 {
		return ""
	}
	parts, ok := shell.LastChain(command)
	if !ok {
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
