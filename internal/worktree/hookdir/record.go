package hookdir

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

	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/internal/worktree/filelock"
	"github.com/actorswarm/swarm/internal/worktree/process"
)

// recordVersion is the version of the record files that this package reads and writes.
const recordVersion = 1

// record names the agent that has a directory. It is written with the lock held.
type record struct {
	Version     int            `json:"version"`
	Agent       string         `json:"agent"`
	Incarnation uint32         `json:"incarnation"`
	State       worktree.State `json:"state"`
	Path        string         `json:"path,omitempty"` // not yet known while creating
	Holder      process.ID     `json:"holder"`
	Since       time.Time      `json:"since"`
	// Print is the fingerprint of the directory when it was made.
	Print string `json:"print,omitempty"`
}

// verify returns an error if the directory is not what it was.
func (rec *record) verify() error {
	fi, err := os.Lstat(rec.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the directory %s is %w: it was removed or moved", rec.Path, worktree.ErrGone)
	case err != nil:
		return err
	case !fi.IsDir():
		return refuse(rec.Path, "it is not a directory any more")
	}
	if real, err := filepath.EvalSymlinks(rec.Path); err != nil || real != rec.Path {
		return errors.Join(err, refuse(rec.Path, "it leads to %s now", real))
	}
	return worktree.CheckTop(rec.Path)
}

// reasons lists why the directory must stay.
func (rec *record) reasons(keep []string) []string {
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
	if pids := process.WorkingIn(rec.Path); len(pids) > 0 {
		why = append(why, fmt.Sprintf("processes %v work in it", pids))
	}
	return why
}

// exclusively runs f with the lock on the records.
func (d *Dirs) exclusively(ctx context.Context, f func() error) (err error) {
	lock, err := filelock.Wait(ctx, filepath.Join(d.root, "lock"))
	if err != nil {
		return fmt.Errorf("wait for the records in %s: %w", d.root, err)
	}
	defer func() { err = errors.Join(err, filelock.Unlock(lock)) }()
	return f()
}

func (d *Dirs) read(agent string) (*record, error) { return readRecord(d.file(agent)) }

// readRecord returns nil without an error if there is no record.
func readRecord(path string) (*record, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	rec := &record{}
	if err == nil {
		err = json.Unmarshal(text, rec)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the record %s, whose directory is left alone: %w", path, err)
	case rec.Version != recordVersion || filepath.Base(path) != worktree.DirName(rec.Agent)+".json":
		return nil, refuse(path, "it has version %d and is of agent %q", rec.Version, rec.Agent)
	}
	return rec, nil
}

// all reads every record.
func (d *Dirs) all() ([]*record, error) {
	entries, err := os.ReadDir(d.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		rec, err := readRecord(filepath.Join(d.root, e.Name()))
		if err != nil {
			return nil, err
		}
		if rec != nil {
			out = append(out, rec)
		}
	}
	return out, nil
}

// set moves a record to a state and saves it, whole or not at all. The lock must be
// held.
func (d *Dirs) set(rec *record, s worktree.State) error {
	rec.State, rec.Since = s, time.Now().UTC()
	if s == worktree.Kept {
		rec.Holder = process.ID{}
	}
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return fmt.Errorf("record the directory of %s: %w", rec.Agent, err)
	}
	draft := d.file(rec.Agent) + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("record the directory of %s: %w", rec.Agent, err)
	}
	return os.Rename(draft, d.file(rec.Agent))
}

// forget deletes the record of a directory that is gone or was never made.
func (d *Dirs) forget(agent string) error {
	if err := os.Remove(d.file(agent)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the record of the directory of %s: %w", agent, err)
	}
	return nil
}
