package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// place is a repository with a root for worktrees beside it.
type place struct {
	t    testing.TB
	dir  string // the main checkout
	root string
	r    *Repo
}

// newPlace makes a repository with a few files and two commits. Locks count as
// stale at once.
func newPlace(t testing.TB) *place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: filepath.Join(top, "main"), root: filepath.Join(top, "session", "trees")}
	p.write(p.dir, "a.txt", "one\ntwo\n")
	p.write(p.dir, "sub/b.txt", "bee\n")
	p.write(p.dir, ".gitignore", "*.log\nbuild/\n.env\n")
	p.git(p.dir, "init", "-q", "-b", "main")
	p.git(p.dir, "add", ".")
	p.git(p.dir, "commit", "-q", "-m", "first")
	p.write(p.dir, "c.txt", "sea\n")
	p.git(p.dir, "add", ".")
	p.git(p.dir, "commit", "-q", "-m", "second")
	p.r = p.open(p.dir, time.Nanosecond)
	return p
}

func (p *place) open(dir string, stale time.Duration) *Repo {
	p.t.Helper()
	r, err := Open(p.t.Context(), dir, Options{StaleAfter: stale})
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *place) lease(agent string, incarnation uint32) *Tree {
	p.t.Helper()
	tree, err := p.r.Lease(p.t.Context(), LeaseOptions{Agent: agent, Incarnation: incarnation, Root: p.root})
	if err != nil {
		p.t.Fatal(err)
	}
	return tree
}

func (p *place) release(tree *Tree) Released {
	p.t.Helper()
	rel, err := tree.Release(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return rel
}

func (p *place) write(dir, name, text string) {
	p.t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

// git runs the person's git, as an agent or a person would.
func (p *place) git(dir string, args ...string) string {
	p.t.Helper()
	out, err := p.tryGit(dir, args...)
	if err != nil {
		p.t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return out
}

func (p *place) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@x", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@x", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// print hashes every file below dir but what skip names.
func (p *place) print(dir string, skip func(rel string) bool) map[string]string {
	p.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || skip != nil && skip(rel) {
			return err
		}
		text := []byte("link")
		if d.Type().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(text)
		out[rel] = hex.EncodeToString(sum[:])
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// untouchable is the part of a checkout and its .git that no clean-up may change.
func (p *place) untouchable() map[string]string {
	return p.print(p.dir, func(rel string) bool {
		for _, free := range []string{".git/objects/", ".git/worktrees/", ".git/refs/heads/worktree-", ".git/refs/swarm/", ".git/logs/refs/heads/worktree-", ".git/swarm-worktrees.lock"} {
			if strings.HasPrefix(rel, free) {
				return true
			}
		}
		return false
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
