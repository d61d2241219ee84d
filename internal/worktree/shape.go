package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkout is a directory with a .git entry, and what that entry leads to.
type checkout struct {
	top    string // real path
	gitDir string
	common string
	linked bool
}

// findCheckout walks up from dir to the checkout that holds it. It reads the metadata
// itself, since git would follow any path in it.
func findCheckout(dir string) (checkout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return checkout{}, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return checkout{}, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	for top := real; ; top = filepath.Dir(top) {
		fi, err := os.Lstat(filepath.Join(top, ".git"))
		switch {
		case err == nil:
			return readCheckout(top, fi)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return checkout{}, fmt.Errorf("find the repository of %s: %w", dir, err)
		case top == filepath.Dir(top):
			return checkout{}, fmt.Errorf("%s: %w; run git init there, or start the agent without isolation", dir, ErrNoRepository)
		}
	}
}

func readCheckout(top string, fi fs.FileInfo) (checkout, error) {
	entry := filepath.Join(top, ".git")
	switch {
	case fi.IsDir():
		if _, err := os.Lstat(filepath.Join(entry, "commondir")); err == nil {
			return checkout{}, refuse(entry, "its commondir file sends git to another repository; remove that file")
		}
		return checkout{top: top, gitDir: entry, common: entry}, checkWorktreesDir(entry)
	case !fi.Mode().IsRegular():
		return checkout{}, refuse(entry, "it is %s, not a directory or file of git", kind(fi))
	}
	return readLinked(top)
}

// readLinked follows a .git file both ways: only a worktree whose metadata
// points back at it is accepted.
func readLinked(top string) (checkout, error) {
	entry := filepath.Join(top, ".git")
	admin, err := pointer(entry)
	if err != nil {
		return checkout{}, err
	}
	common := filepath.Dir(filepath.Dir(admin))
	if filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return checkout{}, refuse(entry, "it leads to %s, which is no linked worktree (a submodule or a separate git directory); use the repository that holds it", admin)
	}
	c := checkout{top: top, gitDir: admin, common: common, linked: true}
	return c, errors.Join(checkWorktreesDir(common), checkAdmin(admin, common, entry))
}

// pointer reads the path in a .git file.
func pointer(entry string) (string, error) {
	text, err := os.ReadFile(entry)
	if err != nil {
		return "", fmt.Errorf("read where a worktree's metadata is: %w", err)
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return "", refuse(entry, "it does not name a git directory")
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(entry), to)
	}
	return filepath.Clean(to), nil
}

// checkAdmin returns an error unless a worktree's metadata belongs to common and to the
// worktree whose .git file is entry.
func checkAdmin(admin, common, entry string) error {
	fi, err := os.Lstat(admin)
	if err != nil {
		return fmt.Errorf("%s: the metadata of the worktree is %w: %w", entry, ErrGone, err)
	}
	if !fi.IsDir() {
		return refuse(admin, "it is %s, not a directory", kind(fi))
	}
	shared, err := firstLine(filepath.Join(admin, "commondir"))
	if err != nil {
		return fmt.Errorf("%s: the metadata of the worktree is incomplete: %w", entry, err)
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(admin, shared)
	}
	if filepath.Clean(shared) != common {
		return refuse(admin, "its commondir leads to %s instead of %s", shared, common)
	}
	back, err := firstLine(filepath.Join(admin, "gitdir"))
	if err != nil {
		return fmt.Errorf("%s: the metadata of the worktree is incomplete: %w", entry, err)
	}
	if filepath.Clean(back) != entry {
		return refuse(entry, "its metadata %s belongs to %s; run git worktree repair if the directory was moved", admin, back)
	}
	return nil
}

func checkWorktreesDir(common string) error {
	fi, err := os.Lstat(common)
	if err != nil {
		return fmt.Errorf("check the git directory: %w", err)
	}
	if !fi.IsDir() {
		return refuse(common, "it is %s, not a directory", kind(fi))
	}
	dir := filepath.Join(common, "worktrees")
	switch fi, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("check the worktrees of the repository: %w", err)
	case !fi.IsDir():
		return refuse(dir, "it is %s, not a directory", kind(fi))
	}
	return nil
}

// CheckTop returns an error if git, run in dir, would work on a checkout around it. dir
// is a real path.
func CheckTop(dir string) error {
	c, err := findCheckout(dir)
	switch {
	case errors.Is(err, ErrNoRepository):
		return nil
	case err != nil:
		return err
	case c.top != dir:
		return refuse(dir, "git run in it would work on the checkout %s around it; make a worktree or a clone of it", c.top)
	}
	return nil
}

func kind(fi fs.FileInfo) string {
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case fi.Mode().IsRegular():
		return "a file"
	}
	return "a special file"
}

func firstLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// below reports whether path is dir or inside it. Both are clean and real.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
