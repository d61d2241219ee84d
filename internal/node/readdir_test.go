package node

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReadDirFollowsNothingAndIsBounded(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d/a", "d/b", "d/c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("d", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"d": 2, "d/a": 0, "link": 0, "pipe": 0, "none": 0, "pipe/x": 0} {
		if got, err := ReadDir(filepath.Join(dir, name), 2); err != nil || len(got) != want {
			t.Errorf("%s: %v (%v), want %d names", name, got, err, want)
		}
	}
}
