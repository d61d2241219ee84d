package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// dirMaker makes plain directories below a place of its own.
type dirMaker struct {
	under  string
	path   func(name string) string // what Create says instead
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

func newMaker(t *testing.T) (*dirMaker, *Made) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &dirMaker{under: filepath.Join(top, "made"), remove: os.RemoveAll}
	return m, NewMade(filepath.Join(top, "records"), m, Options{StaleAfter: time.Nanosecond})
}

func leaseMade(t *testing.T, made *Made, agent string) *MadeTree {
	t.Helper()
	tree, err := made.Lease(t.Context(), MadeOptions{Agent: agent, Incarnation: 1})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func releaseMade(t *testing.T, tree *MadeTree, keep ...string) Released {
	t.Helper()
	rel, err := tree.Release(t.Context(), keep...)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

func TestMadeIsHandedBackOnlyUntouched(t *testing.T) {
	m, made := newMaker(t)
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
		tree := leaseMade(t, made, strings.ReplaceAll(name, " ", "-"))
		if err := touch(tree.Path); err != nil {
			t.Fatal(err)
		}
		if rel := releaseMade(t, tree); rel.Removed || len(rel.Why) == 0 || !exists(tree.Path) {
			t.Errorf("%s: %+v", name, rel)
		}
	}
	tree := leaseMade(t, made, "tenant")
	if rel := releaseMade(t, tree, "somebody works in it"); rel.Removed {
		t.Errorf("a tenant: %+v", rel)
	}
	if len(m.asked) > 0 {
		t.Fatalf("the maker was asked to remove %q", m.asked)
	}
	tree = leaseMade(t, made, "plain")
	if rel := releaseMade(t, tree); !rel.Removed || len(m.asked) != 1 || m.asked[0] != tree.Path || exists(tree.Path) {
		t.Errorf("untouched: %+v, asked for %q", rel, m.asked)
	}
	if rel := releaseMade(t, tree); !rel.Removed {
		t.Errorf("a second release: %+v", rel)
	}
}

func TestFailingMakerGivesAndRemovesNothing(t *testing.T) {
	m, made := newMaker(t)
	m.create = errors.New("no room")
	if _, err := made.Lease(t.Context(), MadeOptions{Agent: "ab", Incarnation: 1}); !errors.Is(err, m.create) {
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
		tree := leaseMade(t, made, name)
		rel := releaseMade(t, tree)
		if gone := name == "removed"; rel.Removed != gone || exists(tree.Path) == gone || gone == (len(rel.Why) > 0) {
			t.Errorf("%s: %+v", name, rel)
		}
	}
	m.remove = os.RemoveAll
	pruned, err := made.Prune(t.Context())
	if err != nil || len(pruned) != 3 {
		t.Fatalf("prune: %+v, %v", pruned, err)
	}
	for _, p := range pruned {
		if !p.Removed || exists(p.Path) {
			t.Errorf("prune: %+v", p)
		}
	}
	if list, err := made.List(); err != nil || len(list) > 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
}

func TestMadeRefusesOddShapes(t *testing.T) {
	m, made := newMaker(t)
	p := newPlace(t)
	inside := filepath.Join(p.dir, "plain")
	link := filepath.Join(filepath.Dir(p.dir), "link")
	file := filepath.Join(p.dir, "a.txt")
	if err := errors.Join(os.Mkdir(inside, 0o755), os.Symlink(inside, link)); err != nil {
		t.Fatal(err)
	}
	forged := t.TempDir()
	p.write(forged, ".git", "gitdir: "+p.dir+"/.git\n")
	first := leaseMade(t, made, "first")
	for name, path := range map[string]string{
		"relative": "x", "missing": p.dir + "/nothing", "a link": link, "a file": file, "the main checkout": p.dir, "above it": filepath.Dir(p.dir),
		"git works on the checkout around it": inside, "git works on the main checkout": forged,
		"somebody else's": first.Path, "above somebody else's": m.under, "another than before": t.TempDir(),
	} {
		m.path = func(string) string { return path }
		o := MadeOptions{Agent: "odd", Incarnation: 1, Off: []string{p.dir}}
		if name == "another than before" {
			o.Want = "/before"
		}
		if tree, err := made.Lease(t.Context(), o); err == nil {
			t.Errorf("%s: leased %s", name, tree.Path)
		}
	}
	worktree := filepath.Join(p.dir, ".claude", "worktrees", "x")
	p.git(p.dir, "worktree", "add", "-q", worktree)
	m.path = func(string) string { return worktree }
	if _, err := made.Lease(t.Context(), MadeOptions{Agent: "even", Incarnation: 1, Off: []string{p.dir}}); err != nil {
		t.Errorf("a worktree of git's: %v", err)
	}
	if len(m.asked) > 0 {
		t.Errorf("the maker was asked to remove %q", m.asked)
	}
}

func TestMadeBelongsToOneIncarnation(t *testing.T) {
	_, made := newMaker(t)
	tree := leaseMade(t, made, "ab")
	if _, err := made.Lease(t.Context(), MadeOptions{Agent: "ab", Incarnation: 1}); !errors.Is(err, ErrLeased) {
		t.Errorf("a second lease: %v", err)
	}
	next, err := made.Adopt(t.Context(), "ab", 2)
	if err != nil || next.Path != tree.Path {
		t.Fatalf("adopt: %+v, %v", next, err)
	}
	var late *SupersededError
	if _, err := tree.Release(t.Context()); !errors.As(err, &late) {
		t.Errorf("the older one released: %v", err)
	}
	if _, err := made.Adopt(t.Context(), "ab", 1); !errors.As(err, &late) {
		t.Errorf("the older one adopted: %v", err)
	}
	if _, err := made.Adopt(t.Context(), "nobody", 1); !errors.Is(err, ErrNoLease) {
		t.Errorf("adopt of nothing: %v", err)
	}
	if err := os.Rename(next.Path, next.Path+"-moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := made.Adopt(t.Context(), "ab", 3); !errors.Is(err, ErrGone) {
		t.Errorf("adopt of what is gone: %v", err)
	}
	if err := os.Symlink(next.Path+"-moved", next.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := made.Adopt(t.Context(), "ab", 3); !errors.Is(err, ErrShape) {
		t.Errorf("adopt of a link: %v", err)
	}
}

// TestMadeAfterACrash cuts a directory's life at each state.
func TestMadeAfterACrash(t *testing.T) {
	_, made := newMaker(t)
	die := func(agent string, s State) {
		t.Helper()
		rec, err := made.read(agent)
		if err == nil {
			rec.Holder.PID, rec.Holder.Start = 1<<22+1, "dead"
			err = made.set(rec, s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []State{Leased, Removing} {
		tree := leaseMade(t, made, "a-"+string(s))
		die(tree.Agent, s)
		again, err := made.Adopt(t.Context(), tree.Agent, 1)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if rel := releaseMade(t, again); !rel.Removed {
			t.Errorf("%s: %+v", s, rel)
		}
	}
	tree := leaseMade(t, made, "half")
	if err := os.Remove(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Fatal(err)
	}
	die("half", Removing)
	if pruned, err := made.Prune(t.Context()); err != nil || len(pruned) != 1 || pruned[0].Removed {
		t.Errorf("half removed: %+v, %v", pruned, err)
	}
	tree = leaseMade(t, made, "gone")
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	die("gone", Removing)
	if _, err := made.Adopt(t.Context(), "gone", 2); !errors.Is(err, ErrNoLease) {
		t.Errorf("removed: %v", err)
	}
	leaseMade(t, made, "new")
	die("new", Creating)
	if list, err := made.List(); err != nil || !strings.Contains(fmt.Sprint(list), "the process died while a hook made it") {
		t.Errorf("list: %+v, %v", list, err)
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(tree.Path), "new")); err != nil {
		t.Fatal(err)
	}
	leaseMade(t, made, "new")
}

func TestManyMadeAtOnce(t *testing.T) {
	_, made := newMaker(t)
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			tree, err := made.Lease(t.Context(), MadeOptions{Agent: fmt.Sprint("a-", i), Incarnation: 1})
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
	if list, err := made.List(); err != nil || len(list) > 0 {
		t.Errorf("left: %+v, %v", list, err)
	}
}
