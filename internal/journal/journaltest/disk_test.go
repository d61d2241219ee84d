package journaltest_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

const path = "/d/file"

// start begins a process and writes "kept", durably, then "lost" over it.
func start(t *testing.T) (*journaltest.Disk, journal.File) {
	t.Helper()
	d := journaltest.New()
	f := create(t, d)
	write(t, f, "kept")
	must(t, f.Sync())
	must(t, d.SyncDir("/d"))
	write(t, f, "lost")
	return d, f
}

func create(t *testing.T, d *journaltest.Disk) journal.File {
	t.Helper()
	must(t, d.MkdirAll("/d"))
	f, err := d.Create(path)
	must(t, err)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, f journal.File, text string) {
	t.Helper()
	_, err := f.WriteAt([]byte(text), 0)
	must(t, err)
}

func has(t *testing.T, d *journaltest.Disk, want string) {
	t.Helper()
	b, err := d.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("file holds %q, %v; want %q", b, err, want)
	}
}

func TestACrashTakesWhatWasNotSynced(t *testing.T) {
	d, f := start(t)
	d.Crash(journaltest.LoseNothing, nil)
	has(t, d, "lost")
	d.Crash(journaltest.LoseUnsynced, nil)
	has(t, d, "kept")
	if _, err := f.WriteAt(nil, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a handle outlived its process: %v", err)
	}
	if c := d.Counts(); c.Crashes != 2 || c.LossyCrashes != 1 {
		t.Errorf("counts %+v", c)
	}
}

func TestANameThatWasNotSyncedIsLost(t *testing.T) {
	d := journaltest.New()
	f := create(t, d)
	write(t, f, "text")
	must(t, f.Sync())
	d.Crash(journaltest.LoseUnsynced, nil)
	if _, err := d.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func TestASyncThatFailedNeverHappened(t *testing.T) {
	d, f := start(t)
	d.FailSync(1)
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Sync = %v", err)
	}
	must(t, f.Sync()) // succeeds and has nothing to write
	d.Crash(journaltest.LoseNothing, nil)
	has(t, d, "lost")
	d.Crash(journaltest.LoseUnsynced, nil)
	has(t, d, "kept")
}

func TestRandomLossesReachBothEndsAndTheMiddle(t *testing.T) {
	for _, loss := range []journaltest.Loss{journaltest.LoseSuffix, journaltest.LoseSome} {
		seen := map[string]bool{}
		for seed := range uint64(300) {
			d := journaltest.New()
			f := create(t, d)
			must(t, d.SyncDir("/d"))
			write(t, f, strings.Repeat("a", 512)+strings.Repeat("b", 512))
			d.Crash(loss, rand.New(rand.NewPCG(seed, 0)))
			b, err := d.ReadFile(path)
			must(t, err)
			seen[kind(string(b))] = true
		}
		middle := "part"
		if loss == journaltest.LoseSome {
			middle = "hole"
		}
		if !seen["all"] || !seen["none"] || !seen[middle] {
			t.Errorf("loss %d: only %v", loss, seen)
		}
	}
}

func kind(s string) string {
	switch {
	case s == "":
		return "none"
	case strings.HasPrefix(s, "\x00"):
		return "hole"
	case len(s) == 1024:
		return "all"
	}
	return "part"
}

func TestAFullDiskRefuses(t *testing.T) {
	d, f := start(t)
	d.Full(3)
	if _, err := f.WriteAt([]byte("12345678"), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteAt = %v", err)
	}
	if err := f.Preallocate(8); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Preallocate = %v", err)
	}
	must(t, f.Preallocate(7))
	must(t, f.Truncate(0))
	_, err := f.WriteAt([]byte("1234567"), 0)
	must(t, err)
}
