package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// madeRecord says whose a made directory is.
type madeRecord struct {
	Version     int       `json:"version"`
	Agent       string    `json:"agent"`
	Incarnation uint32    `json:"incarnation"`
	State       State     `json:"state"`
	Path        string    `json:"path,omitempty"` // not yet known while creating
	Holder      holder    `json:"holder"`
	Since       time.Time `json:"since"`
	// Print is what all of it looked like when it was made.
	Print string `json:"print,omitempty"`
}

// verify reports a directory that is not what it was.
func (rec *madeRecord) verify() error {
	fi, err := os.Lstat(rec.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the directory %s is %w: somebody removed or moved it", rec.Path, ErrGone)
	case err != nil:
		return err
	case !fi.IsDir():
		return odd(rec.Path, "the directory has become %s", kind(fi))
	}
	if real, err := filepath.EvalSymlinks(rec.Path); err != nil || real != rec.Path {
		return errors.Join(err, odd(rec.Path, "it leads to %s now", real))
	}
	return ownGit(rec.Path)
}

// reasons says why a directory stays.
func (rec *madeRecord) reasons(keep []string) []string {
	if missing(rec.Path) {
		return nil
	}
	why := append([]string(nil), keep...)
	if err := rec.verify(); err != nil {
		return append(why, err.Error())
	}
	switch now, err := fingerprint(rec.Path); {
	case err != nil:
		why = append(why, err.Error())
	case now != rec.Print:
		why = append(why, "files in it were changed, added or removed since it was made")
	}
	if pids := standing(rec.Path); len(pids) > 0 {
		why = append(why, fmt.Sprintf("processes %v stand in it", pids))
	}
	return why
}

// exclusively runs f while nobody else changes the records.
func (m *Made) exclusively(ctx context.Context, f func() error) (err error) {
	lock, err := lockFile(ctx, filepath.Join(m.root, "lock"))
	if err != nil {
		return fmt.Errorf("wait for the records in %s: %w", m.root, err)
	}
	defer func() { err = errors.Join(err, unlockFile(lock)) }()
	return f()
}

func (m *Made) read(agent string) (*madeRecord, error) { return readMade(m.file(agent)) }

// readMade returns nil without an error if there is no record.
func readMade(path string) (*madeRecord, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	rec := &madeRecord{}
	if err == nil {
		err = json.Unmarshal(text, rec)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the record %s, whose directory is left alone: %w", path, err)
	case rec.Version != recordVersion || filepath.Base(path) != nameOf(rec.Agent)+".json":
		return nil, odd(path, "it has version %d and is of agent %q", rec.Version, rec.Agent)
	}
	return rec, nil
}

func (m *Made) all() ([]*madeRecord, error) {
	entries, err := os.ReadDir(m.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*madeRecord
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		rec, err := readMade(filepath.Join(m.root, e.Name()))
		if err != nil {
			return nil, err
		}
		if rec != nil {
			out = append(out, rec)
		}
	}
	return out, nil
}

// set moves a record to a state and saves it, at once or not at all. The lock
// must be held.
func (m *Made) set(rec *madeRecord, s State) error {
	rec.State, rec.Since = s, time.Now().UTC()
	if s == Kept {
		rec.Holder = holder{}
	}
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return fmt.Errorf("record the directory of %s: %w", rec.Agent, err)
	}
	draft := m.file(rec.Agent) + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("record the directory of %s: %w", rec.Agent, err)
	}
	return os.Rename(draft, m.file(rec.Agent))
}

// forget drops a record. What it described is gone or never was.
func (m *Made) forget(agent string) error {
	if err := os.Remove(m.file(agent)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the directory of %s: %w", agent, err)
	}
	return nil
}
