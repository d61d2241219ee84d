package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a parsed shell command.
type Script struct {
	Text string
	// Err is why nothing about the command is certain: it does not parse, or it is
	// nested too deeply.
	Err error
	// Opaque is why the parts do not show what the whole does; it is empty if they
	// do.
	Opaque string
	// hides is set for a reason of Opaque besides arithmetic.
	hides bool
	// Untraced is what hides where the command writes; it is empty if nothing does.
	Untraced string
	// Commands holds every simple command at every depth, in order.
	Commands []Command
	// TooLong is set above MaxCommand bytes.
	TooLong bool
}

// Command is one simple command, or the redirections of a compound one.
type Command struct {
	Words     []Word
	Assigns   []Assign
	Redirects []Redirect
	// Dirs are the absolute directories in which the command may run; there are none if
	// that is unknown.
	Dirs []string
	// Hidden is set for a command that another one in the list runs, as "sh -c" and
	// "find -exec" do.
	Hidden bool
}

// Assign is a variable that is set for a command, or by one without words.
type Assign struct {
	Name  string
	Value Word
}

// Redirect is a redirection to or from a file.
type Redirect struct {
	op     syntax.RedirOperator
	Target Word
}

// Parse parses a command that is to run in the absolute directory cwd, or in an unknown
// one if cwd is empty. "~" and $HOME stand for home. Parse never fails: the script's
// Err is the problem.
func Parse(text, cwd, home string) *Script {
	s := &Script{Text: text, TooLong: len(text) > MaxCommand}
	doubt := checkText(text)
	if doubt != nil && !errors.Is(doubt, errControl) {
		s.Err = doubt
		return s
	}
	// Shells drop some control characters: what deny rules name is still seen.
	text = strings.Map(dropControl, text)
	r := &reader{script: s, home: home}
	start := state{}
	if strings.HasPrefix(cwd, "/") {
		start = inDirs([]string{Absolute(cwd, "/", home)})
	}
	s.Err = errors.Join(doubt, r.read(text, start))
	if r.tooDeep && s.Err == nil {
		s.Err = errors.New("commands are nested in commands too deeply")
	}
	return s
}

// ShowsButArithmetic reports whether the parts show what the whole does, but for arithmetic,
// which may run what a variable holds.
func (s *Script) ShowsButArithmetic() bool { return !s.hides }

// reckons is why a script is opaque in which a word is computed by arithmetic.
const reckons = "it evaluates arithmetic in a word"

// setOpaque records the first reason not to approve a command part by part.
func (s *Script) setOpaque(reason string) {
	s.hides = s.hides || reason != reckons
	if s.Opaque == "" {
		s.Opaque = reason
	}
}

// setUntraced records the first construct that hides where a command writes.
func (s *Script) setUntraced(reason string) {
	if s.Untraced == "" {
		s.Untraced = reason
	}
}

// Readings returns the text without control characters, and with spaces in their place:
// how shells may read a text that did not parse.
func (s *Script) Readings() []string {
	return []string{strings.Map(dropControl, s.Text), strings.Map(controlToSpace, s.Text)}
}
