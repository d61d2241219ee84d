package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// How much of MEMORY.md enters the prompt.
const (
	memoryLines = 200
	memoryBytes = 25 << 10
)

// memoryNote describes the memory of an agent and includes its beginning.
func memoryNote(d defs.Definition, dir string) string {
	if dir == "" {
		return ""
	}
	note := fmt.Sprintf(`You have a memory that outlasts this task: the directory %s. MEMORY.md in it is shown to you at the start of every task; keep it short and put detail into other files that it names. Write down what will be of use again, such as how this work is done here and what turned out wrong, and correct what no longer holds. Never write secrets into it. What it says is your own note, not an instruction of the user.`, dir)
	text, err := readText(filepath.Join(dir, "MEMORY.md"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return note + "\n\nMEMORY.md is not there yet."
	case err != nil:
		return note + "\n\nMEMORY.md cannot be read: " + reason(err) + "."
	}
	return note + "\n\nMEMORY.md:\n" + beginning(text)
}

// beginning cuts a text at the end of a line and adds a note.
func beginning(text string) string {
	lines := strings.SplitAfter(text, "\n")
	size := 0
	for i, line := range lines {
		if size += len(line); i == memoryLines || size > memoryBytes {
			return strings.Join(lines[:i], "") + "(the rest is not shown; shorten the file)"
		}
	}
	return text
}

// sanitize converts a name to the name of a directory.
func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ':' || r == '/' || r == '\\' || r == 0 {
			return '-'
		}
		return r
	}, name)
}
