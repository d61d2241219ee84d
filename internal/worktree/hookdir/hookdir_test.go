package hookdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/worktree"
)

// dirMaker makes plain directories below a place of its own.
type dirMaker struct {
	under  string
	path   func(name string) string // what Create returns instead
	create error
	remove func(path string) error

	mu    sync.Mutex
	asked []string // guarded by mu
}

func (m *dirMaker) Create(_ context.Context, name string) (string, error) {
	if m.create != nil {
		return "", m.create
	}
	path := filepath.Join(m.under, name)
	if m.path != nil {
		return m.path(name), nil
	}
	return path, errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, "a.txt"), []byte("a"), 0o644))
}

func (m *dirMaker) Remove(_ context.Context, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, path)
	return m.remove(path)
}

func newMaker(t *testing.T) (*dirMaker, *Dirs) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &dirMaker{under: filepath.Join(top, "made"), remove: os.RemoveAll}
	return m, New(filepath.Join(top, "records"), m, worktree.Options{StaleAfter: time.Nanosecond})
}

func lease(t *testing.T, dirs *Dirs, agent string) *Dir {
	t.Helper()
	tree, err := dirs.Lease(t.Context(), LeaseOptions{Agent: agent, Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func release(t *testing.T, tree *Dir, keep ...string) worktree.Released {
	t.Helper()
	rel, err := tree.Release(t.Context(), keep...)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

func TestDirIsRemovedOnlyUntouched(t *testing.T) {
	m, dirs := newMaker(t)
	for name, touch := range map[string]func(dir string) error{
		"added":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "b.txt"), nil, 0o644) },
		"changed": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte("b"), 0o644) },
		"same size and time": func(dir string) error {
			file := filepath.Join(dir, "a.txt")
			fi, err := os.Stat(file)
			return errors.Join(err, os.WriteFile(file, []byte("b"), 0o644), os.Chtimes(file, fi.ModTime(), fi.ModTime()))
		},
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "a.txt")) },
		"empty":   func(dir string) error { return os.Mkdir(filepath.Join(dir, "d"), 0o755) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "a.txt"), 0o600) },
	} {
		tree := lease(t, dirs, strings.ReplaceAll(name, " ", "-"))
		if err := touch(tree.Path); err != nil {
			t.Fatal(err)
		}
		if rel := release(t, tree); rel.Removed || len(rel.Why) == 0 || !exists(tree.Path) {
			t.Errorf("%s: %+v", name, rel)
		}
	}
	tree := lease(t, dirs, "used")
	if rel := release(t, tree, "somebody works in it"); rel.Removed {
		t.Errorf("used by another: %+v", rel)
	}
	if len(m.asked) > 0 {
		t.Fatalf("the maker was asked to remove %q", m.asked)
	}
	tree = lease(t, dirs, "plain")
	if rel := release(t, tree); !rel.Removed || len(m.asked) != 1 || m.asked[0] != tree.Path || exists(tree.Path) {
		t.Errorf("untouched: %+v, asked for %q", rel, m.asked)
	}
	if rel := release(t, tree); !rel.Removed {
		t.Errorf("a second release: %+v", rel)
	}
}

func TestFailingMakerGivesAndRemovesNothing(t *testing.T) {
	m, dirs := newMaker(t)
	m.create = errors.New("no room")
	if _, err := dirs.Lease(t.Context(), LeaseOptions{Agent: "ab", Incarnation: 1}); !errors.Is(err, m.create) {
		t.Errorf("lease: %v", err)
	}
	m.create = nil
	for name, remove := range map[string]func(string) error{
		"failed":  func(string) error { return errors.New("no way") },
		"left":    func(string) error { return nil },
		"nobody":  func(string) error { return ErrNoRemover },
		"removed": func(path string) error { return errors.Join(os.RemoveAll(path), errors.New("loud")) },
	} {
		m.remove = remove
		tree := lease(t, dirs, name)
		rel := release(t, tree)
		if gone := name == "removed"; rel.Removed != gone || exists(tree.Path) == gone || gone == (len(rel.Why) > 0) {
			t.Errorf("%s: %+v", name, rel)
		}
	}
	m.remove = os.RemoveAll
	pruned, err := dirs.Prune(t.Context())
	if err != nil || len(pruned) != 3 {
		t.Fatalf("prune: %+v, %v", pruned, err)
	}
	for _, p := range pruned {
		if !p.Removed || exists(p.Path) {
			t.Errorf("prune: %+v", p)
		}
	}
	if list, err := dirs.List(); err != nil || len(list) > 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
}

// newCheckout makes a repository with one commit and returns its checkout.
func newCheckout(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "main")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o600)); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
}

func TestLeaseRefusesOddShapes(t *testing.T) {
	m, dirs := newMaker(t)
	checkout := newCheckout(t)
	inside := filepath.Join(checkout, "plain")
	link := filepath.Join(filepath.Dir(checkout), "link")
	file := filepath.Join(checkout, "a.txt")
	forged := t.TempDir()
	err := errors.Join(os.Mkdir(inside, 0o755), os.Symlink(inside, link), os.WriteFile(filepath.Join(forged, ".git"), []byte("gitdir: "+checkout+"/.git\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	first := lease(t, dirs, "first")
	for name, path := range map[string]string{
		"relative": "x", "missing": checkout + "/nothing", "a link": link, "a file": file, "the main checkout": checkout, "above it": filepath.Dir(checkout),
		"git works on the checkout around it": inside, "git works on the main checkout": forged,
		"somebody else's": first.Path, "above somebody else's": m.under, "another than before": t.TempDir(),
	} {
		m.path = func(string) string { return path }
		o := LeaseOptions{Agent: "odd", Incarnation: 1, Off: []string{checkout}}
		if name == "another than before" {
			o.Want = "/before"
		}
		if tree, err := dirs.Lease(t.Context(), o); err == nil {
			t.Errorf("%s: leased %s", name, tree.Path)
		}
	}
	linked := filepath.Join(checkout, ".claude", "worktrees", "x")
	git(t, checkout, "worktree", "add", "-q", linked)
	m.path = func(string) string { return linked }
	if _, err := dirs.Lease(t.Context(), LeaseOptions{Agent: "even", Incarnation: 1, Off: []string{checkout}}); err != nil {
		t.Errorf("a worktree of git's: %v", err)
	}
	if len(m.asked) > 0 {
		t.Errorf("the maker was asked to remove %q", m.asked)
	}
}

func TestDirBelongsToOneIncarnation(t *testing.T) {
	_, dirs := newMaker(t)
	tree := lease(t, dirs, "ab")
	if _, err := dirs.Lease(t.Context(), LeaseOptions{Agent: "ab", Incarnation: 1}); !errors.Is(err, worktree.ErrLeased) {
		t.Errorf("a second lease: %v", err)
	}
	next, err := dirs.Adopt(t.Context(), "ab", 2)
	if err != nil || next.Path != tree.Path {
		t.Fatalf("adopt: %+v, %v", next, err)
	}
	var late *worktree.SupersededError
	if _, err := tree.Release(t.Context()); !errors.As(err, &late) {
		t.Errorf("the older one released: %v", err)
	}
	if _, err := dirs.Adopt(t.Context(), "ab", 1); !errors.As(err, &late) {
		t.Errorf("the older one adopted: %v", err)
	}
	if _, err := dirs.Adopt(t.Context(), "nobody", 1); !errors.Is(err, worktree.ErrNoLease) {
		t.Errorf("adopt of nothing: %v", err)
	}
	if err := os.Rename(next.Path, next.Path+"-moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.Adopt(t.Context(), "ab", 3); !errors.Is(err, worktree.ErrGone) {
		t.Errorf("adopt of what is gone: %v", err)
	}
	if err := os.Symlink(next.Path+"-moved", next.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.Adopt(t.Context(), "ab", 3); !errors.Is(err, worktree.ErrShape) {
		t.Errorf("adopt of a link: %v", err)
	}
}

// TestDirAfterACrash cuts a directory's life at each state.
func TestDirAfterACrash(t *testing.T) {
	_, dirs := newMaker(t)
	die := func(agent string, s worktree.State) {
		t.Helper()
		rec, err := dirs.read(agent)
		if err == nil {
			rec.Holder.PID, rec.Holder.Start = 1<<22+1, "dead"
			err = dirs.set(rec, s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []worktree.State{worktree.Leased, worktree.Removing} {
		tree := lease(t, dirs, "a-"+string(s))
		die(tree.Agent, s)
		again, err := dirs.Adopt(t.Context(), tree.Agent, 1)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if rel := release(t, again); !rel.Removed {
			t.Errorf("%s: %+v", s, rel)
		}
	}
	tree := lease(t, dirs, "half")
	if err := os.Remove(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Fatal(err)
	}
	die("half", worktree.Removing)
	if pruned, err := dirs.Prune(t.Context()); err != nil || len(pruned) != 1 || pruned[0].Removed {
		t.Errorf("half removed: %+v, %v", pruned, err)
	}
	tree = lease(t, dirs, "gone")
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	die("gone", worktree.Removing)
	if _, err := dirs.Adopt(t.Context(), "gone", 2); !errors.Is(err, worktree.ErrNoLease) {
		t.Errorf("removed: %v", err)
	}
	lease(t, dirs, "new")
	die("new", worktree.Creating)
	if list, err := dirs.List(); err != nil || !strings.Contains(fmt.Sprint(list), "the process died while a hook made it") {
		t.Errorf("list: %+v, %v", list, err)
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(tree.Path), "new")); err != nil {
		t.Fatal(err)
	}
	lease(t, dirs, "new")
}

func TestManyDirsAtOnce(t *testing.T) {
	_, dirs := newMaker(t)
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			tree, err := dirs.Lease(t.Context(), LeaseOptions{Agent: fmt.Sprint("a-", i), Incarnation: 1})
			if err != nil {
				t.Error(err)
				return
			}
			if rel, err := tree.Release(t.Context()); err != nil || !rel.Removed {
				t.Errorf("%+v, %v", rel, err)
			}
		})
	}
	all.Wait()
	if list, err := dirs.List(); err != nil || len(list) > 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
