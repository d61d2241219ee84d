package defs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed builtin/*.md
var builtinFiles embed.FS

//go:embed builtin/default-prompt.txt
var defaultPrompt string

// DefaultPrompt is the system prompt of a definition without a body.
func DefaultPrompt() string { return strings.TrimSpace(defaultPrompt) }

// Builtins returns the agents that come with the binary, by name. Problems are
// empty unless the binary was built from broken files.
func Builtins() ([]Definition, []Problem) {
	var defs []Definition
	var problems []Problem
	names, err := fs.Glob(builtinFiles, "builtin/*.md")
	if err != nil {
		return nil, []Problem{{Path: "builtin", Text: err.Error(), Fatal: true, cause: err}}
	}
	for _, name := range names {
		src, err := builtinFiles.ReadFile(name)
		if err != nil {
			problems = append(problems, Problem{Path: name, Text: err.Error(), Fatal: true, cause: err})
			continue
		}
		d, ps, err := Parse(name, src, BuiltIn)
		problems = append(problems, ps...)
		if err == nil {
			defs = append(defs, d)
		}
	}
	return defs, problems
}
