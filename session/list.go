package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// CheckID returns an error if an id does not fit into paths and subjects.
func CheckID(id string) error {
	ok := len(id) > 0 && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
	if !ok {
		return fmt.Errorf("%q is not a session id: use lower-case letters, digits and hyphens, at most 64", id)
	}
	return nil
}

// Dir returns the directory of the sessions of a working directory.
func Dir(stateDir, dir string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, dir)
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(stateDir, "projects", name[max(0, len(name)-80):]+"-"+hex.EncodeToString(sum[:4]))
}

// NotFoundError reports a session that does not exist.
type NotFoundError struct {
	ID    string
	Known []string // newest first
}

func (e *NotFoundError) Error() string {
	if e.ID == "" {
		return "there is no session here yet; start one with: swarm run PROMPT"
	}
	text := fmt.Sprintf("there is no session %q", e.ID)
	if len(e.Known) > 0 {
		text += "; the newest are: " + strings.Join(e.Known[:min(5, len(e.Known))], ", ")
	}
	return text
}

// List returns every session in stateDir, newest first; with dir, only those of that
// working directory.
func List(stateDir, dir string) ([]Info, error) {
	pattern := filepath.Join(stateDir, "projects", "*", "*", RecordName)
	if dir != "" {
		pattern = filepath.Join(Dir(stateDir, dir), "*", RecordName)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("list the sessions of %s: %w", stateDir, err)
	}
	var all []Info
	for _, p := range paths {
		info, err := Read(filepath.Dir(p))
		if err != nil {
			continue // a session that is being created, or another directory
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int { return b.Created.Compare(a.Created) })
	return all, nil
}

// Find returns the session with an id or with a unique beginning of one. With an empty id
// it returns the newest session of dir.
func Find(stateDir, dir, id string) (Info, error) {
	within := ""
	if id == "" {
		within = dir
	}
	all, err := List(stateDir, within)
	if err != nil {
		return Info{}, err
	}
	var match []Info
	var known []string
	for _, info := range all {
		known = append(known, info.ID)
		if info.ID == id {
			return info, nil
		}
		if strings.HasPrefix(info.ID, id) {
			match = append(match, info)
		}
	}
	if len(match) == 1 || id == "" && len(match) > 0 {
		return match[0], nil
	}
	return Info{}, &NotFoundError{ID: id, Known: known}
}
