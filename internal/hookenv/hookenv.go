// Package hookenv records what hooks set for the shell commands of a session's agents: the
// lines that they write to the file of CLAUDE_ENV_FILE. All processes of the session read
// the same record.
//
//	v := hookenv.Open(dir, os.Getenv)
//	err := v.Add("SessionStart", []string{"export A=1\n"}, true)
//	cmd.Env = append(cmd.Env, v.List()...)
//
// Laws:
//
//   - What hooks of an event have written holds until its hooks write anew, and survives
//     the process (TestVariablesAreRecorded).
//   - Lines set variables to texts; nothing in them is run, and none sets what swarm knows
//     its processes by (TestNothingIsRun).
package hookenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/internal/shell"
	"github.com/actorswarm/swarm/internal/statefile"
)

// File is the name of the record in the directory of a session.
const File = "hookenv.json"

// maxSize bounds the texts of one event, in bytes.
const maxSize = 256 << 10

// Variables are the record. Its methods may be called from any goroutine.
type Variables struct {
	path   string
	getenv func(string) string

	mu sync.Mutex // held while the record is changed
}

// Open returns the record in a directory; it need not exist. Values may refer to the
// variables of getenv.
func Open(dir string, getenv func(string) string) *Variables {
	return &Variables{path: filepath.Join(dir, File), getenv: getenv}
}

// Add adds texts that hooks of an event have written; with fresh they replace those that
// were there. The error also names lines that have no effect.
func (v *Variables) Add(event string, texts []string, fresh bool) error {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return strings.TrimSpace(t) == "" })
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.read()
	before := all[event]
	if fresh {
		before = ""
	}
	after := before
	var errs []error
	for _, text := range texts {
		_, err := shell.Exports(text, v.getenv)
		if err != nil {
			errs = append(errs, fmt.Errorf("what a %s hook has written to CLAUDE_ENV_FILE has no effect in part: %w", event, err))
		}
		after += text + "\n"
	}
	switch {
	case after == all[event]:
		return errors.Join(errs...)
	case len(after) > maxSize:
		return fmt.Errorf("%s hooks have written more than %d bytes to CLAUDE_ENV_FILE, which is left out", event, maxSize)
	}
	if all[event] = after; after == "" {
		delete(all, event)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode the variables of hooks: %w", err)
	}
	return errors.Join(append(errs, statefile.Write(v.path, raw))...)
}

// List returns the variables, as NAME=VALUE. A record that cannot be read has none.
func (v *Variables) List() (vars []string) {
	all := v.read()
	for _, event := range []string{"SessionStart", "CwdChanged", "FileChanged"} {
		one, _ := shell.Exports(all[event], v.getenv)
		vars = append(vars, one...)
	}
	return slices.DeleteFunc(vars, func(s string) bool { return strings.HasPrefix(s, "SWARM_") })
}

// read returns the texts by event.
func (v *Variables) read() (all map[string]string) {
	raw, err := os.ReadFile(v.path)
	if errors.Is(err, fs.ErrNotExist) || json.Unmarshal(raw, &all) != nil || all == nil {
		return map[string]string{}
	}
	return all
}
