package statefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFailedWriteLeavesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil { // where the new bytes would go
		t.Fatal(err)
	}
	if err := Write(path, []byte("new")); err == nil {
		t.Error("the write did not fail")
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "old" {
		t.Errorf("after a failed write the file holds %q, %v", raw, err)
	}
	if err := os.Remove(path + ".new"); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if info, statErr := os.Stat(path); err != nil || statErr != nil || string(raw) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("the file holds %q, %v, %v, %v", raw, err, info, statErr)
	}
}

func TestErrorsNameTheWayOut(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fs.ErrPermission, "make it writable"},
		{syscall.EROFS, "make it writable"},
		{syscall.ENOSPC, "make room"},
		{errors.New("broken"), "set SWARM_HOME to another"},
	} {
		if got := Error("/state", c.err); !errors.Is(got, c.err) || !strings.Contains(got.Error(), c.want) || !strings.Contains(got.Error(), "/state") {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
