package shell

import (
	"slices"
	"strings"
)

// ExplainExitCode explains exit code 1 of commands for which it is a result and not a
// failure. It returns "" for a failure, or if the command is too complex.
func ExplainExitCode(command string, code int) string {
	if code != 1 {
		return ""
	}
	parts, ok := LastChain(command)
	if !ok {
		return ""
	}
	said := ""
	for i, part := range parts {
		words := strings.Fields(part)
		why := exitCodeOne(words)
		last := i == len(parts)-1
		if why == "" && (last || !cannotFail(words)) {
			return ""
		}
		said = why
	}
	return said
}

// exitCodeOne returns the meaning of exit code 1 of a simple command, or "" for a failure.
func exitCodeOne(words []string) string {
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

// cannotFail reports commands that do not fail before the last one of a chain.
func cannotFail(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{"cd", "echo", "true", ":", "printf"}, words[0])
}
