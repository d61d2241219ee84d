package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// WithoutExpansions removes the marks of expansions, as if each were empty.
func WithoutExpansions(s string) string {
	return strings.NewReplacer("\x00", "", "\x01", "").Replace(s)
}

// Forms returns the words of a command as written, without quotes, and as they are if
// every expansion is empty.
func (c *Command) Forms() [][]string {
	var shown, bare, empty []string
	for _, w := range c.Words {
		shown, bare = append(shown, w.forAllowRules()), append(bare, w.Unquoted())
		if t := WithoutExpansions(w.Text); t != "" || w.Literal {
			empty = append(empty, t)
		}
	}
	return [][]string{shown, bare, empty}
}

// OptionValue removes the name of a long option that is joined with its value.
func OptionValue(w Word) Word {
	if strings.HasPrefix(w.Text, "-") {
		if _, value, ok := strings.Cut(w.Text, "="); ok {
			w.Text = value
		}
	}
	return w
}

// Writes reports whether the redirection may change a file.
func (r Redirect) Writes() bool {
	switch r.op {
	case syntax.RdrIn, syntax.WordHdoc, syntax.DplIn:
		return false
	case syntax.DplOut:
		return strings.Trim(r.Target.Text, "0123456789-") != ""
	}
	return !HarmlessDevice(r.Target)
}

// Reads reports whether the redirection reads a file.
func (r Redirect) Reads() bool { return r.op == syntax.RdrIn && !HarmlessDevice(r.Target) }

// HarmlessDevice reports whether w names a device that is read and written without
// effect.
func HarmlessDevice(w Word) bool {
	switch w.Text {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty":
		return w.Fixed()
	}
	return false
}

// Written returns the operands of a command that are files which it changes.
func (c *Command) Written() []Word {
	words, _ := Strip(c.Words)
	if len(words) == 0 {
		return nil
	}
	switch name := path.Base(words[0].Text); name {
	case "rm", "rmdir", "unlink", "shred", "mkdir", "touch", "tee", "truncate", "chmod", "chown", "chgrp", "patch":
		return Operands(words)
	case "mv", "cp", "ln", "install", "rsync":
		return withDestination(Operands(words))
	case "sed", "perl":
		if slices.ContainsFunc(words[1:], func(w Word) bool { return strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "i") }) {
			return Operands(words)
		}
	case "dd":
		for _, w := range words[1:] {
			if of, ok := strings.CutPrefix(w.Text, "of="); ok {
				w.Text = of
				return []Word{w}
			}
		}
	}
	return nil
}

// withDestination adds the files that appear if the last operand is a directory.
func withDestination(operands []Word) []Word {
	if len(operands) < 2 {
		return operands
	}
	last := operands[len(operands)-1]
	for _, w := range operands[:len(operands)-1] {
		into := last
		into.Text = last.Text + "/" + path.Base(w.Text)
		operands = append(operands, into)
	}
	return operands
}

// Operands returns the words that are not options, and the values of options
// joined with "=".
func Operands(words []Word) []Word {
	var out []Word
	options := true
	for _, w := range words[1:] {
		switch {
		case options && w.Text == "--":
			options = false
		case options && strings.HasPrefix(w.Text, "-") && w.Text != "-":
			if v := OptionValue(w); v.Text != w.Text {
				out = append(out, v)
			}
		default:
			out = append(out, w)
		}
	}
	return out
}

// String shows a command's words as allow rules see them.
func (c *Command) String() string {
	out := make([]string, 0, len(c.Words))
	for _, w := range c.Words {
		out = append(out, w.forAllowRules())
	}
	if len(out) == 0 {
		return "with a redirection or an assignment"
	}
	return strings.Join(out, " ")
}

// SafeAssigns reports whether none of the variables can change which program runs.
func SafeAssigns(as []Assign) bool {
	for _, a := range as {
		switch n := a.Name; n {
		case "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CI", "NODE_ENV",
			"RUST_BACKTRACE", "RUST_LOG", "GOOS", "GOARCH", "CGO_ENABLED", "PYTHONUNBUFFERED", "DEBUG", "VERBOSE", "DEBIAN_FRONTEND":
		default:
			if !strings.HasPrefix(n, "LC_") && !harmlessVariable(n) {
				return false
			}
		}
	}
	return true
}

// harmlessVariable reports names in lower case, which programs do not read, except for
// proxies.
func harmlessVariable(n string) bool {
	return n != "" && n == strings.ToLower(n) && !strings.HasSuffix(n, "_proxy")
}

// PossiblePaths returns the parts of a word that may be a path: the whole word, what
// follows an option's letter, what follows a "=".
func PossiblePaths(w Word) []Word {
	out := []Word{w}
	part := func(text string) {
		w.Text = text
		out = append(out, w)
	}
	if _, value, ok := strings.Cut(w.Text, "="); ok {
		part(value)
	} else if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' {
		part(w.Text[2:])
	}
	return out
}

// RunsPrograms reports whether a program runs others, or changes files, because of its
// arguments.
func RunsPrograms(words []Word) bool {
	switch path.Base(words[0].Text) {
	case "watch", "setsid", "ionice", "flock":
		return true
	case "find":
		return slices.ContainsFunc(words[1:], func(w Word) bool { return !w.Literal || findActs(w.Text) })
	}
	return false
}
