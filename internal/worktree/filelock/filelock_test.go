package filelock

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// try takes the lock and fails the test if that fails; nil if somebody else holds it.
func try(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func unlock(t *testing.T, f *os.File) {
	t.Helper()
	if err := Unlock(f); err != nil {
		t.Fatal(err)
	}
}

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := try(t, path)
	if second := try(t, path); second != nil {
		t.Fatal("a lock that is held was given out again")
	}
	unlock(t, first)
	var holders atomic.Int64 // the race detector does not know that the lock guards it
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			f, err := Wait(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if n := holders.Add(1); n > 1 {
				t.Errorf("%d goroutines hold the lock", n)
			}
			holders.Add(-1)
			if err := Unlock(f); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestACommandKeepsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock := try(t, path)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; read line")
	cmd.ExtraFiles = []*os.File{lock}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	if f := try(t, path); f != nil {
		t.Error("the lock was given out while the command holds it")
	}
	if err := errors.Join(in.Close(), ignoreExit(cmd.Wait())); err != nil {
		t.Fatal(err)
	}
	f := try(t, path)
	if f == nil {
		t.Fatal("the lock is held after the command has ended")
	}
	unlock(t, f)
}

// ignoreExit drops the exit status of a command whose input was closed.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

func TestWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	defer unlock(t, try(t, path))
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, cause)
	defer cancel()
	if f, err := Wait(ctx, path); f != nil || !errors.Is(err, cause) {
		t.Errorf("the wait returns %v, %v; want the cause of its context", f, err)
	}
}

func TestALinkIsRefused(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	if f, err := Try(link); f != nil || err == nil {
		t.Errorf("a link was locked: %v, %v", f, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "target")); err == nil {
		t.Error("a file was made where the link leads")
	}
}
