package defs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// ErrNotAgent is wrapped by Parse's error for a file without frontmatter: such a file is
// documentation.
var ErrNotAgent = errors.New("no frontmatter")

// Problem is one problem at one place. It is an error, so that Parse can return the fatal
// one.
type Problem struct {
	Path string
	// Line is counted from 1; 0 means the file as a whole.
	Line int
	// Agent is the name of the definition, if it was known by then.
	Agent string
	// Source is where the file belongs.
	Source Source
	Text   string
	// Fatal is set when the definition was not loaded.
	Fatal bool
	// Unusable is set when the definition was loaded and no agent of it can start.
	Unusable bool
	cause    error
	// aboutSeveral marks problems that concern several definitions.
	together bool
}

// String returns "path:line: text", or "path: text" without a line.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// Error is String.
func (p Problem) Error() string { return p.String() }

// Unwrap returns the cause, such as ErrNotAgent or a *fs.PathError.
func (p Problem) Unwrap() error { return p.cause }

func sortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}
