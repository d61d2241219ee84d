package hook

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// MatcherError reports a matcher that is no regular expression that Go knows, such as
// one with look-around. Its hooks block every event that can be blocked: what they
// guard is not known.
type MatcherError struct {
	Matcher string
	Err     error
}

func (e *MatcherError) Error() string {
	return fmt.Sprintf("the matcher %q is not a regular expression in Go's syntax: %v", e.Matcher, e.Err)
}

func (e *MatcherError) Unwrap() error { return e.Err }

func always(string) bool { return true }

// parseMatcher reads the matcher of an event. One that cannot be used has a MatcherError.
func parseMatcher(event Event, raw json.RawMessage) (text string, matches func(string) bool, err error) {
	if len(raw) == 0 {
		return "", always, nil
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", always, &MatcherError{Matcher: string(raw), Err: syntaxerr.Plain(err)}
	}
	if event.Name == "FileChanged" {
		names := strings.Split(text, "|")
		return text, func(path string) bool { return slices.Contains(names, filepath.Base(path)) }, nil
	}
	matches, err = compile(text)
	return text, matches, err
}

// rule is the form of a permission rule, such as Bash(rm:*), Bash(rm*) or Read(./a), which
// as a regular expression would match no tool. Notebook(Edit|Read) is none.
var rule = regexp.MustCompile(`^[A-Z]\w*\((.*[ :/~].*|[\w-]+\*)\)$`)

// doubtfulMatcher returns why a matcher of an event about tools matches none, or "".
func doubtfulMatcher(event Event, matcher string) string {
	switch {
	case !event.Tool:
		return ""
	case rule.MatchString(matcher):
		return `matches no tool: a rule belongs into "if", beside the matcher ` + matcher[:strings.IndexByte(matcher, '(')]
	case matcher != "" && strings.ToLower(matcher) == matcher && !strings.HasPrefix(matcher, "mcp") && strings.IndexFunc(matcher, unicode.IsLetter) == 0:
		return "matches no tool: names of tools begin with a capital letter, as in Bash"
	}
	return ""
}

// compile compiles a matcher: "" or "*" matches everything, plain names are a list
// separated by "|" or ",", and anything else is a regular expression without anchors.
func compile(matcher string) (func(string) bool, error) {
	switch {
	case matcher == "" || matcher == "*":
		return always, nil
	case strings.IndexFunc(matcher, func(r rune) bool { return !plain(r) }) < 0:
		names := strings.FieldsFunc(matcher, func(r rune) bool { return r == '|' || r == ',' })
		for i, n := range names {
			names[i] = strings.TrimSpace(n)
		}
		return func(s string) bool { return slices.Contains(names, s) }, nil
	}
	re, err := regexp.Compile(matcher)
	if err != nil {
		return always, &MatcherError{Matcher: matcher, Err: err}
	}
	return re.MatchString, nil
}

func plain(r rune) bool {
	return r == '_' || r == '-' || r == ' ' || r == ',' || r == '|' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
