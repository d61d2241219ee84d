package shell

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is the text of a shell command, taken apart.
type Script struct {
	Text string
	// Err says why nothing about the command is certain: it does not parse, or it
	// is nested too deeply to be read as a whole.
	Err error
	// Opaque says why the parts do not tell what the whole does; empty if they do.
	Opaque string
	// Untraced says what hides where the command writes; empty if nothing does.
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
	// Dirs are the directories it may run in, absolute; none if that is unknown.
	Dirs []string
	// Hidden commands are run by another one that is in the list itself, as "sh -c"
	// and "find -exec" do.
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

// Parse takes a command apart that is to run in the directory cwd, absolute; the
// empty text is an unknown one. "~" and $HOME stand for home. Parse never fails:
// what is wrong with the command is in Err.
func Parse(text, cwd, home string) *Script {
	s := &Script{Text: text, TooLong: len(text) > MaxCommand}
	doubt := parseable(text)
	if doubt != nil && !errors.Is(doubt, errControl) {
		s.Err = doubt
		return s
	}
	// Shells drop some control characters: what deny rules name is still seen.
	text = strings.Map(visible, text)
	r := &reader{s: s, home: home}
	start := state{}
	if strings.HasPrefix(cwd, "/") {
		start = in([]string{Absolute(cwd, "/", home)})
	}
	s.Err = errors.Join(doubt, r.read(text, start))
	if r.tooDeep && s.Err == nil {
		s.Err = errors.New("commands are nested in commands too deeply")
	}
	return s
}

// doubt records the first reason not to approve a command part by part.
func (s *Script) doubt(why string) {
	if s.Opaque == "" {
		s.Opaque = why
	}
}

// hide records the first shape that hides where a command writes.
func (s *Script) hide(why string) {
	if s.Untraced == "" {
		s.Untraced = why
	}
}

// Readings are the text without control characters and with blanks for them: how
// shells may read what was not understood.
func (s *Script) Readings() []string {
	return []string{strings.Map(visible, s.Text), strings.Map(spaced, s.Text)}
}
