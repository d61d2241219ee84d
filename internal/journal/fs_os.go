package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// OS is the operating system's file system.
type OS struct{}

// MkdirAll creates dir and syncs every directory that got a new name.
func (o OS) MkdirAll(dir string) error {
	var parents []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, p := range parents {
		if err := o.SyncDir(p); err != nil {
			return err
		}
	}
	return nil
}

// lockGrace is how long Lock waits for a lock whose holder is dead. The lock lasts until
// the holder's last thread has ended and a child that was just forked runs its program,
// and while InUse tests it.
const lockGrace = 2 * time.Second

// Lock takes the advisory lock on path. If the holder is dead, Lock waits for a moment.
func (OS) Lock(path string) (io.Closer, error) {
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR))
	held, err := l.TryLock()
	again, late := time.NewTicker(5*time.Millisecond), time.NewTimer(lockGrace)
	defer again.Stop()
	defer late.Stop()
	for waits := true; err == nil && !held && waits && isDead(lockOwner(path)); {
		select {
		case <-again.C:
			held, err = l.TryLock()
		case <-late.C:
			waits = false
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !held {
		return nil, errors.Join(&LockedError{Path: path, PID: lockOwner(path)}, l.Close())
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the process id into %s: %w", path, err), l.Close())
	}
	return l, nil
}

// isDead reports whether a process has ended. On systems with /proc that includes one
// whose parent has not waited for it.
func isDead(pid int) bool {
	if pid <= 0 {
		return false
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // no such file on other systems
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return bytes.HasPrefix(state, []byte(" Z ")) || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func lockOwner(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// List returns the names in dir.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Open opens path for reading.
func (OS) Open(path string) (File, error) { return openOS(path, os.O_RDONLY) }

// Create opens path for reading and writing.
func (OS) Create(path string) (File, error) { return openOS(path, os.O_RDWR|os.O_CREATE) }

func openOS(path string, flag int) (File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// SyncDir syncs the directory itself.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// osFile adds what the systems do differently: Sync and Preallocate are in
// the file of each system.
type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
