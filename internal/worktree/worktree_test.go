package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLeaseStartsFromTheCallersHead(t *testing.T) {
	p := newPlace(t)
	p.git(p.dir, "checkout", "-q", "-b", "feature")
	p.write(p.dir, "d.txt", "dee\n")
	p.git(p.dir, "add", ".")
	p.git(p.dir, "commit", "-q", "-m", "third")
	head := p.git(p.dir, "rev-parse", "HEAD")
	tree := p.lease("ab12", 1)
	if tree.Base != head || p.git(tree.Path, "rev-parse", "HEAD") != head {
		t.Errorf("base %s, want the caller's HEAD %s", tree.Base, head)
	}
	if got := p.git(tree.Path, "status", "--porcelain"); got != "" {
		t.Errorf("a new worktree is not clean: %s", got)
	}
	if !exists(filepath.Join(tree.Path, "d.txt")) || tree.Branch != "worktree-ab12" {
		t.Errorf("tree %+v has not the files of its base", tree)
	}
	// A child of an isolated agent starts where that agent is.
	p.write(tree.Path, "e.txt", "eee\n")
	p.git(tree.Path, "add", ".")
	p.git(tree.Path, "commit", "-q", "-m", "by the agent")
	child, err := p.open(tree.Path, 0).Lease(t.Context(), LeaseOptions{Agent: "child", Incarnation: 1, Root: p.root})
	if err != nil {
		t.Fatal(err)
	}
	if want := p.git(tree.Path, "rev-parse", "HEAD"); child.Base != want {
		t.Errorf("child's base %s, want %s", child.Base, want)
	}
}

func TestUntouchedIsRemovedWithItsBranch(t *testing.T) {
	p := newPlace(t)
	before := p.untouchable()
	tree := p.lease("ab12", 1)
	if rel := p.release(tree); !rel.Removed || len(rel.Why) > 0 {
		t.Fatalf("released %+v, want removed", rel)
	}
	if rel := p.release(tree); !rel.Removed {
		t.Errorf("a second release returns %+v", rel)
	}
	if exists(tree.Path) || p.git(p.dir, "branch", "--list", "worktree-*") != "" || strings.Contains(p.git(p.dir, "worktree", "list"), "session") {
		t.Error("something of the worktree is left")
	}
	if d := cmp.Diff(before, p.untouchable()); d != "" {
		t.Errorf("the main checkout or .git changed:\n%s", d)
	}
}

func TestChangedIsKeptWithItsReasons(t *testing.T) {
	p := newPlace(t)
	for name, c := range map[string]struct {
		do   func(dir string)
		want string
	}{
		"modified":  {func(d string) { p.write(d, "a.txt", "other\n") }, "1 changed files (a.txt)"},
		"untracked": {func(d string) { p.write(d, "new/n.txt", "n\n") }, "1 untracked files (new/n.txt)"},
		"ignored":   {func(d string) { p.write(d, "out.log", "n\n") }, "1 ignored files (out.log)"},
		"deleted":   {func(d string) { os.Remove(filepath.Join(d, "a.txt")) }, "1 changed files (a.txt)"},
		"committed": {func(d string) { p.git(d, "commit", "-q", "--allow-empty", "-m", "x") }, "1 commits that nothing else holds"},
		"reset away": {func(d string) {
			p.git(d, "commit", "-q", "--allow-empty", "-m", "y")
			p.git(d, "reset", "-q", "--hard", "HEAD~1")
		}, "1 commits that nothing else holds"},
		"left behind": {func(d string) {
			p.git(d, "checkout", "-q", "--detach")
			p.git(d, "commit", "-q", "--allow-empty", "-m", "z")
			p.git(d, "checkout", "-q", "worktree-left-behind")
		}, "1 commits that nothing else holds"},
		"overlooked": {func(d string) {
			p.git(d, "update-index", "--assume-unchanged", "a.txt")
			p.write(d, "a.txt", "hidden\n")
		}, "1 changed files (a.txt)"},
		"staged only": {func(d string) {
			p.write(d, "a.txt", "staged\n")
			p.git(d, "add", "a.txt")
			p.write(d, "a.txt", "one\ntwo\n")
		}, "1 changed files (a.txt)"},
		"nested": {func(d string) { p.git(d, "init", "-q", "build/inner") }, "1 submodules or nested repositories (build/inner"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := p.lease(strings.ReplaceAll(name, " ", "-"), 1)
			c.do(tree.Path)
			rel := p.release(tree)
			if rel.Removed || rel.Path != tree.Path || rel.Branch != tree.Branch || !strings.HasPrefix(strings.Join(rel.Why, "; "), c.want) {
				t.Errorf("released %+v, want it kept because of %q", rel, c.want)
			}
			if !exists(tree.Path) || exists(filepath.Join(p.dir, ".git/worktrees", filepath.Base(tree.Path), "locked")) {
				t.Error("it is gone or still locked")
			}
		})
	}
}

func TestPushedWorkIsNotKept(t *testing.T) {
	p := newPlace(t)
	tree := p.lease("ab12", 1)
	p.git(tree.Path, "commit", "-q", "--allow-empty", "-m", "x")
	p.git(p.dir, "update-ref", "refs/remotes/origin/x", tree.Branch)
	if rel := p.release(tree); !rel.Removed {
		t.Errorf("released %+v, want removed: the remote holds the commit", rel)
	}
}

func TestOlderIncarnationIsRefused(t *testing.T) {
	p := newPlace(t)
	old := p.lease("ab12", 1)
	p.write(old.Path, "new.txt", "n\n")
	young, err := old.Renew(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	var superseded *SupersededError
	if err := old.Check(); !errors.As(err, &superseded) || superseded.Want != 2 {
		t.Errorf("check of the old one: %v", err)
	}
	if _, err := old.Release(t.Context()); !errors.As(err, &superseded) {
		t.Errorf("release by the old one: %v", err)
	}
	if _, err := old.Rescue(t.Context(), RescueOptions{}); !errors.As(err, &superseded) {
		t.Errorf("rescue by the old one: %v", err)
	}
	if _, err := p.r.Adopt(t.Context(), AdoptOptions{Agent: "ab12", Incarnation: 1, Root: p.root}); !errors.As(err, &superseded) {
		t.Errorf("adopt by the old one: %v", err)
	}
	if _, err := p.r.Lease(t.Context(), LeaseOptions{Agent: "ab12", Incarnation: 3, Root: p.root}); !errors.Is(err, ErrLeased) {
		t.Errorf("lease of what is leased: %v", err)
	}
	if rel := p.release(young); rel.Removed {
		t.Errorf("released %+v", rel)
	}
	if _, err := p.r.Adopt(t.Context(), AdoptOptions{Agent: "ab12", Incarnation: 3, Root: p.root}); err != nil {
		t.Errorf("adopt of what was kept: %v", err)
	}
	if _, err := p.r.Adopt(t.Context(), AdoptOptions{Agent: "nobody", Incarnation: 3, Root: p.root}); !errors.Is(err, ErrNoLease) {
		t.Errorf("adopt of nothing: %v", err)
	}
}

func TestIncludedFilesAreCopied(t *testing.T) {
	p := newPlace(t)
	p.write(p.dir, ".worktreeinclude", ".env\nbuild/*\n!build/secret\na.txt\nplain.txt\n")
	p.git(p.dir, "add", ".")
	p.git(p.dir, "commit", "-q", "-m", "include")
	p.write(p.dir, ".env", "KEY=1\n")
	p.write(p.dir, "build/x", "x\n")
	p.write(p.dir, "build/secret", "s\n")
	p.write(p.dir, "plain.txt", "not ignored\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(p.dir, "build/link")); err != nil {
		t.Fatal(err)
	}
	tree := p.lease("ab12", 1)
	for name, want := range map[string]bool{".env": true, "build/x": true, "build/secret": false, "plain.txt": false, "build/link": false} {
		if exists(filepath.Join(tree.Path, name)) != want {
			t.Errorf("%s copied: %v, want %v", name, !want, want)
		}
	}
	p.write(tree.Path, ".env", "KEY=2\n")
	if rel := p.release(tree); rel.Removed || !strings.Contains(strings.Join(rel.Why, ""), ".env") {
		t.Errorf("released %+v, want the changed copy kept", rel)
	}
	second := p.lease("cd34", 1)
	if rel := p.release(second); !rel.Removed {
		t.Errorf("released %+v, want removed with its copies", rel)
	}
}

func TestOpenRefusesOddShapes(t *testing.T) {
	p := newPlace(t)
	if _, err := Open(t.Context(), t.TempDir(), Options{}); !errors.Is(err, ErrNoRepository) {
		t.Errorf("no repository: %v", err)
	}
	odd := map[string]func(dir string){
		"linked .git":       func(d string) { os.Symlink(filepath.Join(p.dir, ".git"), filepath.Join(d, ".git")) },
		"foreign .git file": func(d string) { p.write(d, ".git", "gitdir: "+p.dir+"/.git\n") },
		"borrowed worktree": func(d string) { p.write(d, ".git", "gitdir: "+p.dir+"/.git/worktrees/w\n") },
		"linked worktrees": func(d string) {
			p.git(d, "init", "-q")
			os.Symlink(t.TempDir(), filepath.Join(d, ".git/worktrees"))
		},
		"core.worktree": func(d string) {
			p.git(d, "init", "-q")
			p.git(d, "config", "core.worktree", p.dir)
		},
		"commondir": func(d string) {
			p.git(d, "init", "-q")
			p.write(d, ".git/commondir", p.dir+"/.git\n")
		},
	}
	p.git(p.dir, "worktree", "add", "-q", "../w", "-b", "w")
	for name, make := range odd {
		dir := t.TempDir()
		make(dir)
		if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v, want ErrShape", name, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{filepath.Join(p.dir, "trees"), p.dir, filepath.Join(p.dir, ".git", "x"), "relative", link} {
		if _, err := p.r.Lease(t.Context(), LeaseOptions{Agent: "a", Incarnation: 1, Root: root}); !errors.Is(err, ErrShape) {
			t.Errorf("root %s: %v, want ErrShape", root, err)
		}
	}
}

func TestForgedTreeIsKept(t *testing.T) {
	p := newPlace(t)
	other := newPlace(t)
	stranger := other.lease("victim", 1)
	forge := map[string]func(tree *Tree){
		"git-file":  func(tr *Tree) { p.write(tr.Path, ".git", "gitdir: "+other.dir+"/.git/worktrees/victim\n") },
		"no-file":   func(tr *Tree) { os.Remove(filepath.Join(tr.Path, ".git")) },
		"sibling":   func(tr *Tree) { p.write(tr.Path, ".git", "gitdir: "+p.dir+"/.git/worktrees/git-file\n") },
		"commondir": func(tr *Tree) { p.write(p.dir, ".git/worktrees/commondir/commondir", other.dir+"/.git\n") },
		"directory": func(tr *Tree) {
			os.Rename(tr.Path, tr.Path+"-moved")
			os.Symlink(stranger.Path, tr.Path)
		},
	}
	for _, name := range []string{"git-file", "no-file", "sibling", "commondir", "directory"} {
		tree := p.lease(name, 1)
		forge[name](tree)
		if err := tree.Check(); !errors.Is(err, ErrShape) && !errors.Is(err, ErrGone) {
			t.Errorf("%s: check returns %v", name, err)
		}
		if rel := p.release(tree); rel.Removed || len(rel.Why) == 0 {
			t.Errorf("%s: released %+v, want it kept", name, rel)
		}
	}
	pruned, err := p.r.Prune(t.Context(), PruneOptions{Root: p.root, Rescue: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range pruned {
		if x.Removed {
			t.Errorf("prune removed the forged %s", x.Path)
		}
	}
	if err := stranger.Check(); err != nil {
		t.Errorf("the other repository's worktree: %v", err)
	}
}

func TestForeignLockIsKept(t *testing.T) {
	p := newPlace(t)
	tree := p.lease("ab12", 1)
	p.git(p.dir, "worktree", "unlock", tree.Path)
	p.git(p.dir, "worktree", "lock", "--reason", "mine", tree.Path)
	if rel := p.release(tree); rel.Removed || !strings.Contains(strings.Join(rel.Why, ""), "mine") {
		t.Errorf("released %+v, want it kept for its lock", rel)
	}
	if _, err := p.r.Prune(t.Context(), PruneOptions{Root: p.root, Rescue: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.git(p.dir, "worktree", "list", "--porcelain"), "locked mine") {
		t.Error("a person's lock was taken off")
	}
}

func TestStaleIndexLockGoesOnlyWhenOld(t *testing.T) {
	p := newPlace(t)
	p.lease("ab12", 1)
	lock := filepath.Join(p.dir, ".git/worktrees/ab12/index.lock")
	p.write(filepath.Dir(lock), "index.lock", "")
	patient := p.open(p.dir, time.Hour)
	if _, err := patient.Adopt(t.Context(), AdoptOptions{Agent: "ab12", Incarnation: 2, Root: p.root}); err != nil || !exists(lock) {
		t.Errorf("a fresh lock: exists %v, %v", exists(lock), err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := patient.Adopt(t.Context(), AdoptOptions{Agent: "ab12", Incarnation: 3, Root: p.root}); err != nil || exists(lock) {
		t.Errorf("an old lock: exists %v, %v", exists(lock), err)
	}
}

func TestCancelledLeaseLeavesNothing(t *testing.T) {
	p := newPlace(t)
	for i := range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*6)*time.Millisecond)
		tree, err := p.r.Lease(ctx, LeaseOptions{Agent: "ab12", Incarnation: 1, Root: p.root})
		cancel()
		if err == nil {
			p.release(tree)
		}
		left, _ := filepath.Glob(p.root + "/*")
		if len(left) > 0 || p.git(p.dir, "branch", "--list", "worktree-*") != "" {
			t.Errorf("after %d ms: %v is left (%v)", i*6, left, err)
		}
	}
}

func TestLinkedFindsOtherNames(t *testing.T) {
	p := newPlace(t)
	tree := p.lease("ab12", 1)
	link := filepath.Join(tree.Path, "hard")
	if err := errors.Join(os.Link(filepath.Join(p.dir, "a.txt"), link), os.Link(filepath.Join(tree.Path, "c.txt"), filepath.Join(tree.Path, "own"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"hard": filepath.Join(p.dir, "a.txt"), "own": "", "a.txt": "", "new": ""} {
		if got, err := Linked(t.Context(), tree.Path, append(p.r.Own(), p.root), filepath.Join(tree.Path, name)); got != want || err != nil {
			t.Errorf("%s is linked to %q (%v), want %q", name, got, err, want)
		}
	}
}

func TestNamesAreGoodAndDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a1", "A1", ".git", "a/b", "a.b", "a..b", "-x", "x.lock", "", strings.Repeat("a", 300), "ab", "a b", "é"} {
		n := DirName(id)
		if other, twice := seen[n]; twice || strings.ContainsAny(n, "/. ") || len(n) > maxName || n[0] == '-' {
			t.Errorf("%q is named %q (other: %q)", id, n, other)
		}
		seen[n] = id
	}
}

// TestNoProgramOfTheRepositoryRuns leases and releases a worktree of a repository whose
// settings name a program wherever they can.
func TestNoProgramOfTheRepositoryRuns(t *testing.T) {
	p := newPlace(t)
	p.write(p.dir, ".gitattributes", "* filter=evil\n*.txt filter=a=b diff=evil merge=evil\n")
	p.git(p.dir, "add", ".")
	p.git(p.dir, "commit", "-q", "-m", "attributes")
	ran := filepath.Join(filepath.Dir(p.dir), "ran")
	for _, key := range []string{
		"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "filter.a=b.smudge", "filter.a=b.clean", "diff.evil.command", "diff.evil.textconv", "diff.external",
		"merge.evil.driver", "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "gpg.program", "credential.helper", "alias.read-tree", "alias.status",
	} {
		p.git(p.dir, "config", key, "touch "+ran+"; cat")
	}
	p.git(p.dir, "config", "filter.evil.required", "true")
	p.write(p.dir, ".git/hooks/post-checkout", "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(p.dir, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	tree := p.lease("ann", 1)
	p.write(tree.Path, "a.txt", "changed\n")
	if released := p.release(tree); len(released.Why) == 0 {
		t.Error("a worktree with a change was removed")
	}
	untouched := p.lease("bob", 1)
	p.release(untouched)
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program has run (%v)", err)
	}
	if text, err := os.ReadFile(filepath.Join(tree.Path, "sub", "b.txt")); string(text) != "bee\n" {
		t.Errorf("b.txt is %q, %v", text, err)
	}
}
