package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errStopWalk ends a walk that has found what it is for.
var errStopWalk = errors.New("found")

// Linked returns another name of the file at path that is in one of the protected
// directories but not in the tree; "" if there is none. It searches only if the file
// has several names. After an error, treat the file as linked.
func Linked(ctx context.Context, tree string, protected []string, path string) (string, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find other names of %s: %w", path, err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !fi.Mode().IsRegular() || ok && st.Nlink < 2 {
		return "", nil
	}
	for _, dir := range protected {
		name, err := sameFile(ctx, dir, tree, fi)
		if err != nil || name != "" {
			return name, err
		}
	}
	return "", nil
}

// sameFile returns a name of the file below dir, but not below except.
func sameFile(ctx context.Context, dir, except string, fi fs.FileInfo) (name string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was removed during the walk
		case err != nil:
			return err
		case path == except:
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		other, err := d.Info()
		if err == nil && os.SameFile(fi, other) {
			name = path
			return errStopWalk
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStopWalk) {
		return "", fmt.Errorf("find other names of a file in %s: %w", dir, err)
	}
	return name, nil
}
