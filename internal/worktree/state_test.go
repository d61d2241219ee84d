package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm/internal/worktree/process"
)

// author is an agent that works at random and remembers every version of every
// file that it wrote, as long as it did not overwrite or delete it itself
// without git having had it.
type author struct {
	p     *place
	rng   *rand.Rand
	dir   string
	n     int
	wrote map[string]string // hash of the content → where it was
	log   []string
	plain int // how many steps could not change anything
}

// want remembers a content that must be found again.
func (a *author) want(text, where string) {
	sum := sha256.Sum256([]byte(text))
	a.wrote[hex.EncodeToString(sum[:])] = where
}

func (a *author) text() string {
	a.n++
	return fmt.Sprintf("text %d of %s\r\n%x\n", a.n, a.dir, a.rng.Uint64())
}

// put writes a file for good.
func (a *author) put(name string) string {
	text := a.text()
	a.p.write(a.dir, name, text)
	a.want(text, name)
	return text
}

func (a *author) try(args ...string) {
	if out, err := a.p.tryGit(a.dir, args...); err != nil {
		a.log = append(a.log, fmt.Sprintf("git %v: %s", args, out))
	}
}

// steps are what an agent may do. Each leaves its bytes where a fair clean-up
// can find them: in a file, in the index, in a commit.
func (a *author) steps() map[string]func() {
	file := func(kind, ext string) string { return fmt.Sprintf("%s-%d%s", kind, a.n, ext) }
	commit := func() { a.try("commit", "-q", "-a", "-m", "step") }
	return map[string]func(){
		"new":      func() { a.put(file("dir/new", ".txt")) },
		"odd name": func() { a.put(file("o\"d\n\\é -", " x")) },
		"ignored":  func() { a.put(file("build/out", ".o")) },
		"edit":     func() { a.put("sub/b.txt") },
		"staged":   func() { name := file("staged", ".txt"); a.put(name); a.try("add", name); a.put(name) },
		"forced":   func() { name := file("forced", ".log"); a.put(name); a.try("add", "-f", name) },
		"commit":   func() { name := file("kept", ".txt"); a.put(name); a.try("add", name); commit() },
		"amend": func() {
			name := file("am", ".txt")
			a.put(name)
			a.try("add", name)
			commit()
			a.put(name)
			a.try("commit", "-q", "-a", "--amend", "-m", "again")
		},
		"reset": func() {
			name := file("re", ".txt")
			a.put(name)
			a.try("add", name)
			commit()
			a.try("reset", "-q", "--hard", "HEAD~1")
		},
		"detach": func() {
			a.try("checkout", "-q", "--detach")
			name := file("de", ".txt")
			a.put(name)
			a.try("add", name)
			commit()
		},
		"other": func() {
			a.try("checkout", "-q", "-b", file("side", "")+"-"+filepath.Base(a.dir))
			name := file("si", ".txt")
			a.put(name)
			a.try("add", name)
			commit()
		},
		"return": func() {
			a.try("checkout", "-q", "--detach")
			name := file("back", ".txt")
			a.put(name)
			a.try("add", name)
			commit()
			a.try("checkout", "-q", "worktree-"+filepath.Base(a.dir))
		},
		"overlook":   func() { a.try("update-index", "--assume-unchanged", "c.txt"); a.put("c.txt") },
		"skip":       func() { a.try("update-index", "--skip-worktree", "sub/b.txt"); a.put("sub/b.txt") },
		"executable": func() { name := file("run", ".sh"); a.put(name); os.Chmod(filepath.Join(a.dir, name), 0o755) },
		"link":       func() { os.Symlink(a.p.dir, filepath.Join(a.dir, file("root", ""))) },
		"intent":     func() { name := file("intent", ".txt"); a.put(name); a.try("add", "-N", name) },
		"exclude":    func() { a.p.write(a.dir, ".gitignore", "*\n"); a.put(file("hidden", ".txt")) },
		"text":       func() { a.p.write(a.dir, ".gitattributes", "* text=auto eol=lf\n"); a.put(file("crlf", ".txt")) },
		"stash":      func() { a.put("a.txt"); a.try("stash", "-q") },
		"delete":     func() { os.Remove(filepath.Join(a.dir, ".gitignore")) },
		"old lock": func() {
			a.try("update-index", "--refresh")
			a.p.write(filepath.Join(a.p.dir, ".git/worktrees", filepath.Base(a.dir)), "index.lock", "")
		},
		"read":  func() { a.try("status"); a.try("log", "-1"); a.plain++ },
		"empty": func() { os.MkdirAll(filepath.Join(a.dir, file("empty", "")), 0o755); a.plain++ },
	}
}

// work does up to six steps. A later step may overwrite a file that an earlier
// one left uncommitted; what is gone by the agent's own hand is not wanted.
func (a *author) work() {
	names := []string{}
	all := a.steps()
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for range a.rng.IntN(6) {
		name := names[a.rng.IntN(len(names))]
		a.log = append(a.log, name)
		a.n++
		all[name]()
	}
	a.forgetLost()
}

// forgetLost forgets the contents that neither a file, nor the index, nor any
// commit git remembers holds before the clean-up begins.
func (a *author) forgetLost() {
	there := a.p.print(a.dir, nil)
	have := map[string]bool{}
	for _, sum := range there {
		have[sum] = true
	}
	index, err := a.p.tryGit(a.dir, "ls-files", "-s")
	if err != nil {
		a.p.t.Fatal(index)
	}
	roots := []string{"--all", "--reflog"}
	out := a.p.git(a.dir, append([]string{"rev-list", "--objects", "--no-object-names"}, roots...)...)
	for _, line := range strings.Split(index, "\n") {
		if f := strings.Fields(line); len(f) > 1 {
			out += "\n" + f[1]
		}
	}
	for sum := range a.p.blobs(out) {
		have[sum] = true
	}
	for sum := range a.wrote {
		if !have[sum] {
			delete(a.wrote, sum)
		}
	}
}

// blobs hashes the content of each object that is a blob.
func (p *place) blobs(ids string) map[string]bool {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", "cat-file", "--batch")
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader(ids+"\n")
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	have := map[string]bool{}
	for rest := string(out); rest != ""; {
		head, more, _ := strings.Cut(rest, "\n")
		var id, kind string
		var size int
		if _, err := fmt.Sscan(head, &id, &kind, &size); err != nil {
			rest = more // a missing object
			continue
		}
		if kind == "blob" {
			sum := sha256.Sum256([]byte(more[:size]))
			have[hex.EncodeToString(sum[:])] = true
		}
		rest = more[size+1:]
	}
	return have
}

// recoverable hashes everything that a listed ref, the stash or a kept worktree holds.
func (p *place) recoverable(tree string) map[string]bool {
	have := p.blobs(p.git(p.dir, "rev-list", "--objects", "--no-object-names", "--branches", "--tags", "--remotes", "--glob=refs/swarm/rescue/*", "--glob=refs/stash"))
	// Of the stash, the ref names only the newest.
	if log, err := os.ReadFile(filepath.Join(p.dir, ".git/logs/refs/stash")); err == nil {
		for line := range strings.Lines(string(log)) {
			for sum := range p.blobs(p.git(p.dir, "rev-list", "--objects", "--no-object-names", strings.Fields(line)[1])) {
				have[sum] = true
			}
		}
	}
	if !exists(tree) {
		return have
	}
	for _, sum := range p.print(tree, nil) {
		have[sum] = true
	}
	index, _ := p.tryGit(tree, "ls-files", "-s")
	ids := ""
	for line := range strings.Lines(index) {
		if f := strings.Fields(line); len(f) > 1 {
			ids += f[1] + "\n"
		}
	}
	for sum := range p.blobs(ids + p.git(tree, "rev-list", "--objects", "--no-object-names", "HEAD", "--reflog")) {
		have[sum] = true
	}
	return have
}

// TestEveryByteIsRecoverable puts worktrees into random states and ends them in
// random ways: at exit, by collection, by collection with rescue, after a crash.
func TestEveryByteIsRecoverable(t *testing.T) {
	states := 30
	if os.Getenv("SWARM_SOAK") != "" {
		states = 500
	}
	var removed, rescued, kept int
	p := newPlace(t)
	before := p.untouchable()
	for i := range states {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		tree := p.lease(fmt.Sprintf("agent-%d", i), 1)
		a := &author{p: p, rng: rng, dir: tree.Path, wrote: map[string]string{}}
		a.work()
		way := rng.IntN(4)
		ref := p.end(tree, way)
		switch {
		case exists(tree.Path):
			kept++
		case ref:
			rescued++
		default:
			removed++
		}
		have := p.recoverable(tree.Path)
		for sum, where := range a.wrote {
			if !have[sum] {
				t.Errorf("state %d, ended in way %d: what was written to %q is lost; steps %q", i, way, where, a.log)
			}
		}
	}
	after := p.untouchable()
	for rel := range after {
		// The agents' own side branches and stashes.
		if strings.Contains(rel, "refs/heads/side") || strings.Contains(rel, "refs/stash") {
			delete(after, rel)
		}
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the main checkout or .git changed:\n%s", d)
	}
	if out := p.git(p.dir, "fsck", "--strict", "--no-dangling", "--connectivity-only"); strings.Contains(out, "missing") || strings.Contains(out, "error") {
		t.Errorf("git fsck: %s", out)
	}
	if removed == 0 || rescued == 0 || kept == 0 {
		t.Errorf("the states were not random enough: %d removed, %d rescued, %d kept", removed, rescued, kept)
	}
	t.Logf("%d states: %d removed untouched, %d rescued and removed, %d kept", states, removed, rescued, kept)
}

// end cleans a worktree up in one of four ways and reports whether a rescue
// ref was needed.
func (p *place) end(tree *Tree, way int) (rescued bool) {
	p.t.Helper()
	switch way {
	case 0:
		p.release(tree)
	case 1, 2:
		p.release(tree)
		pruned, err := p.r.Prune(p.t.Context(), PruneOptions{Root: p.root, Agents: []string{tree.Agent}, Rescue: way == 2})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, x := range pruned {
			if way == 2 && !x.Removed {
				p.t.Errorf("prune with rescue left %s: %v", x.Path, x.Why)
			}
			rescued = x.Ref != ""
		}
	case 3: // the process died: its holder is somebody who does not exist
		rec, err := readRecord(recordPath(p.root, tree.Agent))
		if err == nil {
			rec.Holder.PID, rec.Holder.Start = 1<<22+1, "dead"
			rec.Since = time.Now().Add(-time.Hour)
			err = rec.write(p.root)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		pruned, err := p.r.Prune(p.t.Context(), PruneOptions{Root: p.root, Agents: []string{tree.Agent}, Rescue: true})
		if err != nil {
			p.t.Fatal(err)
		}
		rescued = len(pruned) == 1 && pruned[0].Ref != ""
	}
	return rescued
}

func TestPruneRemovesOnlyWhatIsRescued(t *testing.T) {
	p := newPlace(t)
	tree := p.lease("ab12", 1)
	p.write(tree.Path, "new.txt", "new\n")
	p.write(tree.Path, "out.log", "log\n")
	p.release(tree)
	prune := func(o PruneOptions) Pruned {
		t.Helper()
		o.Root = p.root
		out, err := p.r.Prune(t.Context(), o)
		if err != nil || len(out) != 1 {
			t.Fatalf("prune: %+v, %v", out, err)
		}
		return out[0]
	}
	if x := prune(PruneOptions{}); x.Removed || len(x.Why) == 0 {
		t.Fatalf("changed and not rescued: %+v", x)
	}
	got, err := p.r.Rescue(t.Context(), p.root, "ab12", RescueOptions{})
	if err != nil || got.Ref != "refs/swarm/rescue/ab12" || !slices.Equal(got.Ignored, []string{"out.log"}) {
		t.Fatalf("rescue: %+v, %v", got, err)
	}
	if x := prune(PruneOptions{}); x.Removed {
		t.Fatalf("an ignored file was not rescued, and yet: %+v", x)
	}
	if got, err = p.r.Rescue(t.Context(), p.root, "ab12", RescueOptions{Ignored: true}); err != nil || len(got.Ignored) > 0 {
		t.Fatalf("rescue: %+v, %v", got, err)
	}
	p.write(tree.Path, "new.txt", "newer\n")
	if x := prune(PruneOptions{}); x.Removed {
		t.Fatalf("changed after its rescue: %+v", x)
	}
	p.write(tree.Path, "new.txt", "new\n")
	if x := prune(PruneOptions{}); !x.Removed || x.Ref != got.Ref {
		t.Fatalf("rescued and not removed: %+v", x)
	}
	if text := p.git(p.dir, "show", got.Ref+":out.log"); text != "log" {
		t.Errorf("the rescue holds %q", text)
	}
}

func TestRescueTouchesNothing(t *testing.T) {
	p := newPlace(t)
	for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction", "post-checkout"} {
		p.write(p.dir, ".git/hooks/"+hook, "#!/bin/sh\ntouch "+p.dir+"/ran\n")
		if err := os.Chmod(filepath.Join(p.dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tree := p.lease("ab12", 1)
	p.write(tree.Path, "a.txt", "changed\r\n")
	p.write(tree.Path, "n.txt", "new\n")
	p.write(tree.Path, ".gitattributes", "*.txt filter=bad text\n")
	p.git(p.dir, "config", "filter.bad.clean", "touch "+p.dir+"/ran; cat")
	main, mine, admin := p.untouchable(), p.print(tree.Path, nil), p.print(filepath.Join(p.dir, ".git/worktrees/ab12"), nil)
	first, err := tree.Rescue(t.Context(), RescueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := tree.Rescue(t.Context(), RescueOptions{})
	if err != nil || second.Commit != first.Commit {
		t.Errorf("a second rescue of the same made %s of %s (%v)", second.Commit, first.Commit, err)
	}
	for what, d := range map[string]string{
		"main":     cmp.Diff(main, p.untouchable()),
		"tree":     cmp.Diff(mine, p.print(tree.Path, nil)),
		"metadata": cmp.Diff(admin, p.print(filepath.Join(p.dir, ".git/worktrees/ab12"), nil)),
	} {
		if d != "" {
			t.Errorf("%s changed:\n%s", what, d)
		}
	}
	if exists(filepath.Join(p.dir, "ran")) {
		t.Error("a hook or filter of the repository ran")
	}
	if sum := p.blobs(first.Commit + ":a.txt"); !sum[mine["a.txt"]] {
		t.Error("the rescued bytes are not those of the file")
	}
}

func TestProcessInATreeKeepsIt(t *testing.T) {
	p := newPlace(t)
	if len(process.WorkingIn("/")) == 0 {
		t.Skip("this system does not tell where processes stand")
	}
	tree := p.lease("ab12", 1)
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.Dir = tree.Path
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if rel := p.release(tree); rel.Removed {
		t.Error("it was removed under a living process")
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if rel := p.release(tree); !rel.Removed {
		t.Errorf("released %+v once the process was gone", rel)
	}
}
