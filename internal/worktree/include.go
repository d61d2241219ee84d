package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// includeFile names, in gitignore syntax, the ignored files that a new worktree
// gets copies of.
const includeFile = ".worktreeinclude"

// include copies from the caller's checkout the regular files that match
// .worktreeinclude and are ignored. Links are neither copied nor followed. It
// returns the hash of each copy.
func (r *Repo) include(ctx context.Context, rec *record) (map[string]string, error) {
	fi, err := os.Lstat(filepath.Join(r.from.top, includeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !fi.Mode().IsRegular() {
		return nil, errors.Join(err, refuse(filepath.Join(r.from.top, includeFile), "it is not a file"))
	}
	names, err := r.included(ctx)
	if err != nil {
		return nil, err
	}
	from, err := os.OpenRoot(r.from.top)
	if err != nil {
		return nil, err
	}
	to, err := os.OpenRoot(rec.Path)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	hashes, err := copyAll(ctx, from, to, names)
	return hashes, errors.Join(err, from.Close(), to.Close())
}

func (r *Repo) included(ctx context.Context) ([]string, error) {
	g := git{dir: r.from.top}
	matched, err := g.list(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-from="+filepath.Join(r.from.top, includeFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", includeFile, err)
	}
	ignored, err := g.list(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", includeFile, err)
	}
	set := asSet(ignored)
	var out []string
	for _, name := range matched {
		if set[name] && !strings.HasSuffix(name, "/") {
			out = append(out, name)
		}
	}
	return out, nil
}

func copyAll(ctx context.Context, from, to *os.Root, names []string) (map[string]string, error) {
	hashes := map[string]string{}
	for _, name := range names {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		fi, err := from.Lstat(name)
		if err != nil {
			return nil, fmt.Errorf("copy %s for %s: %w", name, includeFile, err)
		}
		if !fi.Mode().IsRegular() {
			continue
		}
		if hashes[name], err = copyFile(from, to, name, fi.Mode().Perm()); err != nil {
			return nil, fmt.Errorf("copy %s for %s: %w", name, includeFile, err)
		}
	}
	return hashes, nil
}

func copyFile(from, to *os.Root, name string, mode fs.FileMode) (sum string, err error) {
	in, err := from.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), in)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, out.Close())
}

// stillIncluded reports a file that is as it was copied.
func (rec *record) stillIncluded(name string) bool {
	want, ok := rec.Included[name]
	if !ok {
		return false
	}
	fi, err := os.Lstat(filepath.Join(rec.Path, name))
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(filepath.Join(rec.Path, name))
	if err != nil {
		return false
	}
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return errors.Join(err, f.Close()) == nil && hex.EncodeToString(hash.Sum(nil)) == want
}

func asSet(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

func lines(s string) []string {
	if s = strings.TrimSuffix(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
