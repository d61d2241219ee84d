package worktree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be a process that leases and releases.
func TestMain(m *testing.M) {
	if spec := os.Getenv("SWARM_WORKTREE_CHILD"); spec != "" {
		os.Exit(child(strings.Split(spec, "\n")))
	}
	os.Exit(m.Run())
}

// child leases and releases many worktrees at once and prints each step.
func child(spec []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	r, err := Open(ctx, spec[0], Options{StaleAfter: time.Nanosecond})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	var n int
	if _, err := fmt.Sscan(spec[3], &n); err != nil {
		return 1
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { one(ctx, r, spec[1], fmt.Sprintf("%s-%d", spec[2], i), i) })
	}
	all.Wait()
	fmt.Println("done")
	return 0
}

func one(ctx context.Context, r *Repo, root, agent string, i int) {
	tree, err := r.Lease(ctx, LeaseOptions{Agent: agent, Incarnation: 1, Root: root})
	if err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println("leased", agent)
	if i%5 == 0 {
		if err := os.WriteFile(filepath.Join(tree.Path, "work.txt"), []byte(agent), 0o600); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("wrote", agent)
	}
	rel, err := tree.Release(ctx)
	if err != nil || rel.Removed == (i%5 == 0) {
		fmt.Println("error", rel, err)
		return
	}
	fmt.Println("released", agent)
}

// childProcess is a running child and the lines that it prints.
type childProcess struct {
	cmd   *exec.Cmd
	lines chan string
}

func (p *place) startChild(name string, n int) *childProcess {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SWARM_WORKTREE_CHILD="+strings.Join([]string{p.dir, p.root, name, fmt.Sprint(n)}, "\n"))
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		p.t.Fatal(err)
	}
	c := &childProcess{cmd, make(chan string)}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

// follow reads what the process prints, and kills it after some lines unless
// kill is negative. It returns the agents whose work must be found.
func (c *childProcess) follow(t *testing.T, kill int) (wrote []string) {
	n := 0
	for line := range c.lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "error":
			t.Errorf("a process reports: %s", rest)
		case "wrote":
			wrote = append(wrote, rest)
		}
		if n++; n == kill {
			if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
		}
	}
	if err := c.cmd.Wait(); err != nil && kill < 0 {
		t.Error(err)
	}
	return wrote
}

// TestManyProcessesWithKills leases and releases 50 worktrees at once from
// three processes, kills two of them somewhere, and collects what they left.
func TestManyProcessesWithKills(t *testing.T) {
	rounds := 1
	if os.Getenv("SWARM_SOAK") != "" {
		rounds = 20
	}
	p := newPlace(t)
	before := p.untouchable()
	for round := range rounds {
		rng := rand.New(rand.NewPCG(uint64(round), 3))
		var wrote []string
		var mu sync.Mutex
		var all sync.WaitGroup
		for i, kill := range []int{-1, 1 + rng.IntN(20), 1 + rng.IntN(40)} {
			c := p.startChild(fmt.Sprintf("r%d-p%d", round, i), []int{16, 17, 17}[i])
			all.Go(func() {
				w := c.follow(t, kill)
				mu.Lock()
				wrote = append(wrote, w...)
				mu.Unlock()
			})
		}
		all.Wait()
		p.collect()
		p.nothingStray()
		for _, agent := range wrote {
			if text, err := p.tryGit(p.dir, "show", rescueRef(agent)+":work.txt"); err != nil || text != agent {
				t.Errorf("round %d: the work of %s is lost: %s", round, agent, text)
			}
		}
	}
	after := p.untouchable()
	if len(after) != len(before) {
		t.Errorf("%d files in the main checkout and .git, %d before", len(after), len(before))
	}
}

// collect prunes until the commands that outlived their process have ended.
func (p *place) collect() {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var left []Pruned
	for range 500 {
		all, err := p.r.Prune(p.t.Context(), PruneOptions{Root: p.root, Rescue: true})
		if err != nil {
			p.t.Fatal(err)
		}
		left = left[:0]
		for _, x := range all {
			if !x.Removed {
				left = append(left, x)
			}
		}
		if len(left) == 0 {
			return
		}
		<-tick.C
	}
	for _, x := range left {
		p.t.Errorf("%s (%s) could not be collected: %v", x.Path, x.State, x.Why)
	}
}

func (p *place) nothingStray() {
	p.t.Helper()
	for what, pattern := range map[string]string{
		"root": p.root + "/*", "metadata": p.dir + "/.git/worktrees/*",
		"lock": p.dir + "/.git/*.lock", "ref lock": p.dir + "/.git/refs/heads/*.lock",
	} {
		found, err := filepath.Glob(pattern)
		for _, f := range found {
			if filepath.Base(f) != "swarm-worktrees.lock" {
				p.t.Errorf("stray %s: %s", what, f)
			}
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if stray := p.git(p.dir, "branch", "--list", "worktree-*"); stray != "" {
		p.t.Errorf("stray branches: %s", stray)
	}
	if out := p.git(p.dir, "fsck", "--strict", "--no-dangling"); out != "" {
		p.t.Errorf("git fsck: %s", out)
	}
}

// TestUnfinishedLeaseIsUndone cuts a creation and a removal at every stage a
// kill can cut them.
func TestUnfinishedLeaseIsUndone(t *testing.T) {
	cuts := map[string]func(p *place, tr *Tree, admin string){
		"record only": func(p *place, tr *Tree, admin string) {
			p.git(p.dir, "worktree", "remove", "-f", "-f", tr.Path)
			p.git(p.dir, "branch", "-D", tr.Branch)
		},
		"branch": func(p *place, tr *Tree, admin string) { p.git(p.dir, "worktree", "remove", "-f", "-f", tr.Path) },
		"fragment": func(p *place, tr *Tree, admin string) {
			os.RemoveAll(tr.Path)
			for _, f := range []string{"gitdir", "commondir", "HEAD", "index"} {
				os.Remove(filepath.Join(admin, f))
			}
		},
		"no directory": func(p *place, tr *Tree, admin string) { os.RemoveAll(tr.Path) },
		"half files": func(p *place, tr *Tree, admin string) {
			os.Remove(filepath.Join(tr.Path, "a.txt"))
			os.Remove(filepath.Join(admin, "index"))
			p.write(tr.Path, "c.txt", "s")
		},
		"no git file": func(p *place, tr *Tree, admin string) {
			os.Remove(filepath.Join(tr.Path, ".git"))
			os.Remove(filepath.Join(tr.Path, "a.txt"))
		},
		"whole": func(p *place, tr *Tree, admin string) {},
	}
	for name, cut := range cuts {
		for _, state := range []State{Creating, Removing} {
			if state == Removing && (name == "half files" || name == "fragment") {
				continue // git removes files whole, and the metadata last
			}
			t.Run(name+" "+string(state), func(t *testing.T) {
				p := newPlace(t)
				tree := p.lease("ab12", 1)
				cut(p, tree, filepath.Join(p.dir, ".git/worktrees/ab12"))
				p.die(tree, state)
				if list, err := p.r.List(t.Context(), p.root); err != nil || len(list) > 0 {
					t.Errorf("list: %+v, %v", list, err)
				}
				p.nothingStray()
			})
		}
	}
	t.Run("a stranger's file keeps it", func(t *testing.T) {
		p := newPlace(t)
		for _, state := range []State{Creating, Removing} {
			tree := p.lease("k-"+string(state), 1)
			p.write(tree.Path, "mine.txt", "mine\n")
			p.die(tree, state)
			list, err := p.r.List(t.Context(), p.root)
			if err != nil || !exists(filepath.Join(tree.Path, "mine.txt")) || !strings.Contains(fmt.Sprint(list), "mine.txt") {
				t.Errorf("%s: list %+v, %v", state, list, err)
			}
		}
	})
	t.Run("the next lease undoes it at once", func(t *testing.T) {
		p := newPlace(t)
		patient := p.open(p.dir, time.Hour)
		tree := p.lease("again", 1)
		p.die(tree, Creating)
		if list, err := patient.List(t.Context(), p.root); err != nil || !strings.Contains(fmt.Sprint(list), "again") {
			t.Errorf("a sweep did not wait: %+v, %v", list, err)
		}
		next, err := patient.Lease(t.Context(), LeaseOptions{Agent: "again", Incarnation: 2, Root: p.root})
		if err != nil {
			t.Fatal(err)
		}
		p.release(next)
	})
}

// die makes a worktree's record what it is after a kill in the given state.
func (p *place) die(tree *Tree, state State) {
	p.t.Helper()
	rec, err := readRecord(recordPath(p.root, tree.Agent))
	if err == nil {
		rec.State, rec.Holder.PID, rec.Holder.Start = state, 1<<22+1, "dead"
		if state == Removing {
			rec.Final, rec.Tip = tree.Base, tree.Base
		}
		err = rec.write(p.root)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
