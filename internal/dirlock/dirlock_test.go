package dirlock

import (
	"context"
	"errors"
	"os"
	"testing"
)

var errEnough = errors.New("enough")

// open opens a new directory.
func open(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// again opens a directory once more, as another process would.
func again(t *testing.T, dir *os.File) *os.File {
	t.Helper()
	f, err := os.Open(dir.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// excludes tries the law on one way to lock.
func excludes(t *testing.T, lock func(ctx context.Context, dir *os.File) (func() error, error)) {
	t.Helper()
	dir := open(t)
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if _, err := lock(ctx, again(t, dir)); !errors.Is(err, errEnough) {
		t.Errorf("the lock is given twice, or the wait ends with %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if unlock, err = lock(t.Context(), again(t, dir)); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestOneHolderAtATime(t *testing.T) { excludes(t, Wait) }

func TestDirectoriesThatCannotBeLockedAreLockedBeside(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	excludes(t, func(ctx context.Context, dir *os.File) (func() error, error) { return lockBeside(ctx, dir.Name()) })
}

func TestWaitEndsWithItsContext(t *testing.T) {
	dir := open(t)
	unlock, err := Wait(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	other, ended := again(t, dir), make(chan error)
	go func() {
		_, err := Wait(ctx, other)
		ended <- err
	}()
	cancel(errEnough)
	if err := <-ended; !errors.Is(err, errEnough) {
		t.Errorf("the wait ends with %v", err)
	}
}
