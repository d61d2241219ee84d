package mailbox

import (
	"slices"
	"strings"
)

// maxName is the most bytes of a name.
const maxName = 64

// reserved are the names that mean somebody else in every session.
var reserved = [...]string{"team-lead", "lead", "main", "user", "all"}

// BadName says why nobody can be called by a name, or returns "". Names stand in
// messages, on terminals and in paths, so that what acts on one of these is no
// part of a name.
func BadName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return "is longer than 64 characters"
	case slices.Contains(reserved[:], strings.ToLower(name)):
		return "has a meaning of its own; choose another"
	case strings.ContainsFunc(name, notInName):
		return "may hold letters, digits, dots, dashes and underscores only"
	}
	return ""
}

func notInName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}
