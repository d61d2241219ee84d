package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/worktree/process"
)

// recordVersion is the version of the record files that this package reads and writes.
const recordVersion = 1

// State is the stage of a worktree between its creation and its removal.
type State string

// The states.
const (
	// Creating: git may not have finished; no agent has worked in it yet.
	Creating State = "creating"
	// Leased: an agent works in it, or worked in it when its process died.
	Leased State = "leased"
	// Kept: released, but not removed, since it holds something that is nowhere else.
	Kept State = "kept"
	// Removing: found to be removable; git may not have finished.
	Removing State = "removing"
)

// record is the file beside a worktree that names the agent that has it. It is written only
// with the lock on the repository's metadata held.
type record struct {
	Version     int        `json:"version"`
	Agent       string     `json:"agent"`
	Incarnation uint32     `json:"incarnation"`
	State       State      `json:"state"`
	Common      string     `json:"common"`         // the repository
	From        string     `json:"from,omitempty"` // the checkout that the caller was in
	Path        string     `json:"path"`
	Branch      string     `json:"branch"`
	Base        string     `json:"base"`
	Lock        string     `json:"lock"` // the reason we gave git for locking it
	Holder      process.ID `json:"holder"`
	Since       time.Time  `json:"since"` // of this state and holder
	// Included maps the files copied for .worktreeinclude to their SHA-256.
	Included map[string]string `json:"included,omitempty"`
	// Final is, while removing, the commit that holds every file.
	Final string `json:"final,omitempty"`
	// Tip is, while removing, the commit the branch was found at.
	Tip string `json:"tip,omitempty"`
}

func (rec *record) ref() string { return "refs/heads/" + rec.Branch }

func recordOf(rec *record) string { return recordPath(filepath.Dir(rec.Path), rec.Agent) }

func recordPath(root, agent string) string { return filepath.Join(root, DirName(agent)+".json") }

// readRecord returns nil without an error if there is no record.
func readRecord(path string) (*record, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of a worktree: %w", err)
	}
	rec := &record{}
	if err := json.Unmarshal(text, rec); err != nil {
		return nil, fmt.Errorf("%s: the record of a worktree is damaged, so the worktree beside it is left alone; check what is in it, then remove both: %w", path, err)
	}
	return rec, rec.check(path)
}

// check refuses a record that does not describe the worktree beside it.
func (rec *record) check(path string) error {
	root := filepath.Dir(path)
	switch {
	case rec.Version != recordVersion:
		return fmt.Errorf("%s: the record has version %d, this program knows %d; use the program that wrote it", path, rec.Version, recordVersion)
	case path != recordPath(root, rec.Agent) || rec.Path != filepath.Join(root, DirName(rec.Agent)):
		return refuse(path, "the record describes %s of agent %q instead of the worktree beside it", rec.Path, rec.Agent)
	case !strings.HasPrefix(rec.Branch, "worktree-"+DirName(rec.Agent)):
		return refuse(path, "the branch %q is not one of agent %q", rec.Branch, rec.Agent)
	}
	return nil
}

// write replaces the record, whole or not at all.
func (rec *record) write(root string) error {
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return fmt.Errorf("record the worktree of %s: %w", rec.Agent, err)
	}
	path := recordPath(root, rec.Agent)
	// One name, not a random one: what a kill leaves is overwritten next time.
	if err = os.WriteFile(path+".new", append(text, '\n'), 0o600); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("record the worktree of %s: %w", rec.Agent, err)
	}
	return nil
}

// set moves the record to a state and saves it.
func (rec *record) set(s State) error {
	rec.State, rec.Since = s, time.Now().UTC()
	if s == Kept {
		rec.Holder, rec.Lock = process.ID{}, ""
	}
	return rec.write(filepath.Dir(rec.Path))
}

func (rec *record) remove() error {
	err := os.Remove(recordOf(rec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// hold makes this process the holder for an incarnation.
func (rec *record) hold(incarnation uint32) {
	rec.Incarnation, rec.Holder = incarnation, process.Self()
	rec.Lock = fmt.Sprintf("swarm: leased to agent %s, incarnation %d, by process %d started %s", rec.Agent, incarnation, rec.Holder.PID, rec.Holder.Start)
}

// abandoned reports whether the holder is dead and the state is older than stale.
func (rec *record) abandoned(stale time.Duration) bool {
	return !rec.Holder.Alive() && time.Since(rec.Since) >= stale
}
