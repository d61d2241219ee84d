package journal_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/gofrs/flock"
)

func TestAJournalIsInUseWhileItIsOpen(t *testing.T) {
	dir := t.TempDir()
	if journal.InUse(dir) {
		t.Error("a journal that was never there is held")
	}
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !journal.InUse(dir) {
		t.Error("an open journal is not held")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if journal.InUse(dir) {
		t.Error("a closed journal is held")
	}
}

// A process that was killed while it forked, or one that looks, can hold the lock
// a moment longer than its holder lives; so does one whose threads have not all
// ended, or that nobody has waited for.
func TestALockIsWaitedForWhenItsHolderIsDead(t *testing.T) {
	at := t.TempDir()
	path := filepath.Join(at, "LOCK")
	dead, unreaped := exec.Command("true"), exec.Command("true")
	if err := errors.Join(dead.Run(), unreaped.Start()); err != nil {
		t.Skip("true is not here:", err)
	}
	defer unreaped.Wait() //nolint:errcheck // true
	hold := func(pid int) *flock.Flock {
		if err := os.WriteFile(path, fmt.Appendln(nil, pid), 0o600); err != nil {
			t.Fatal(err)
		}
		l := flock.New(path)
		if free, err := l.TryRLock(); err != nil || !free {
			t.Fatal("the lock cannot be held:", err)
		}
		return l
	}
	l := hold(os.Getpid())
	if _, err := journal.Open(at, journal.Options{}); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("a living holder: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	holders := []int{dead.Process.Pid}
	if isZombie(unreaped.Process.Pid) {
		holders = append(holders, unreaped.Process.Pid)
	} else if runtime.GOOS == "linux" {
		t.Error("nobody has waited for it, and it is no zombie")
	}
	for _, pid := range holders {
		held := hold(pid)
		time.AfterFunc(50*time.Millisecond, func() {
			if err := held.Close(); err != nil {
				t.Error(err)
			}
		})
		j, err := journal.Open(at, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shut(t, j)
	}
}

// isZombie waits for the end of a process, and reports whether the system shows it.
func isZombie(pid int) bool {
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return err == nil
		}
	}
	return false
}
