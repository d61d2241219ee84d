package mailbox

import (
	"slices"
	"strings"
)

// maxName is the longest name, in bytes.
const maxName = 64

// reserved names have a meaning of their own in every session.
var reserved = [...]string{"team-lead", "lead", "main", "user", "all"}

// NameProblem returns why a name cannot be the display name of an agent, or "". Names
// are shown on terminals and become parts of messages and paths, so that characters with
// a meaning there are not allowed.
func NameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return "is longer than 64 characters"
	case slices.Contains(reserved[:], strings.ToLower(name)):
		return "has a meaning of its own; choose another"
	case strings.ContainsFunc(name, invalidInName):
		return "may hold letters, digits, dots, dashes and underscores only"
	}
	return ""
}

func invalidInName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}
