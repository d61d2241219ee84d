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

// errFound ends a walk.
var errFound = errors.New("found")

// Linked returns the file in one of the protected directories, but not in the
// tree, that path is a hard link to, or "". Links are looked for only if the file has several
// names. An error means that it could not be found out: treat it as linked.
func Linked(ctx context.Context, tree string, protected []string, path string) (string, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for other names of %s: %w", path, err)
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

// sameFile finds another name of a file below dir, but not below except.
func sameFile(ctx context.Context, dir, except string, fi fs.FileInfo) (name string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // it went while we looked
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
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return "", fmt.Errorf("look for other names of a file in %s: %w", dir, err)
	}
	return name, nil
}
