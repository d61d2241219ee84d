package swarm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/worker"
)

// TeammateForTest is swarm teammate for the processes that tests start.
func TeammateForTest(args []string) int {
	value := func(name string) string { return args[slices.Index(args, name)+1] }
	launch, err := strconv.Atoi(value("--launch"))
	if err != nil {
		return 2
	}
	ctx := context.Background()
	n, err := worker.Open(ctx, worker.Options{
		Session: value("--parent-session-id"), StateDir: value("--state-dir"), Agent: value("--agent-id"), Launch: uint32(launch),
	})
	if err == nil {
		err = errors.Join(n.Run(ctx), n.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// apart opens a session whose teammates have processes of their own, run by a
// shell script that may do something before.
func apart(t testing.TB, before, rules string, change func(*Options)) *Session {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.yaml": "rules:\n" + rules, "run.sh": before + "\nexec " + os.Args[0] + " teammate \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{
		Dir: dir, StateDir: t.TempDir(), Home: dir, Model: "script:" + filepath.Join(dir, "s.yaml"), Mode: "bypassPermissions",
		TeammateCommand: []string{"/bin/sh", filepath.Join(dir, "run.sh")},
	}
	o.Policy.Where = agent.InProcess
	if change != nil {
		change(&o)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// processes returns those whose command line names a session's state, but for the
// server of the panes.
func processes(t *testing.T, state string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		raw, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		program, _, _ := strings.Cut(string(raw), "\x00")
		if err == nil && pid != os.Getpid() && strings.Contains(string(raw), state) && filepath.Base(program) != "tmux" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestProblem21_RunningMeansASignOfLife spawns teammates whose executor starts
// at once, late, not at all, or dies on the way. Those that run have given a sign
// of life; of the others nothing is left, not even the name. It is the same in
// panes, and where there is no tmux. The long run makes 100 spawns of each, some
// of them 30 s late.
func TestProblem21_RunningMeansASignOfLife(t *testing.T) {
	all := spawns{each: 1, late: "0.7", limit: 6 * time.Second, kinds: []string{"good", "late", "fails", "lacks", "dies", "hangs"}}
	few := all
	few.kinds = []string{"good", "fails", "lacks", "dies"}
	if os.Getenv("SWARM_SOAK") != "" {
		all.each, all.late, all.limit = 10, "$(($$ % 31))", time.Minute
		few = all
	}
	t.Run("processes", func(t *testing.T) { all.run(t, agent.InProcess) })
	t.Run("panes", func(t *testing.T) {
		if _, err := exec.LookPath("tmux"); err != nil {
			t.Skip("tmux is not here")
		}
		t.Setenv("TMUX", "")
		t.Setenv("TMUX_TMPDIR", t.TempDir())
		few.run(t, agent.InTmux)
	})
	t.Run("without tmux", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"sleep", "sh", "bash", "git"} {
			path, err := exec.LookPath(name)
			if err != nil && name == "bash" {
				continue // it is looked for in other places, too
			}
			if err == nil {
				err = os.Symlink(path, filepath.Join(dir, name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir)
		few.run(t, agent.InTmux)
	})
}

// spawns are what TestProblem21 does.
type spawns struct {
	each  int // teammates of a kind
	late  string
	limit time.Duration // for the first sign of life
	kinds []string
}

func (c spawns) run(t *testing.T, where agent.Place) {
	var first, again strings.Builder
	good, bad := 0, 0
	for _, round := range []*strings.Builder{&first, &again} {
		for i := range c.each {
			for _, kind := range c.kinds {
				fine := kind == "good" || kind == "late"
				if round == &again && fine {
					continue
				}
				fmt.Fprintf(round, "        - {tool: Agent, input: {name: %s%d, description: d, prompt: work}}\n", kind, i)
				if fine {
					good++
				} else {
					bad++
				}
			}
		}
	}
	s := apart(t, `case "$*" in
*--agent-name\ late*) sleep `+c.late+` ;;
*--agent-name\ fails*) echo no; exit 3 ;;
*--agent-name\ lacks*) exec /nowhere/swarm ;;
*--agent-name\ dies*) kill -9 $$ ;;
*--agent-name\ hangs*) exec sleep 1000 ;;
esac`, `  - when: {agent: lead, step: 0}
    say:
      calls:
`+first.String()+`  - when: {agent: lead, step: 1}
    say:
      calls:
`+again.String()+`  - when: {agent: lead}
    say: {text: done}
  - say: {text: found}
`, func(o *Options) { o.firstSign, o.Policy.Where = c.limit, where })
	sub := s.Events()
	begun := time.Now()
	if _, err := s.Run(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	told, failures, hints := map[bool]int{}, []string{}, 0
	for told[true]+told[false] < good+bad {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h, is := e.Fact.(event.Hint); is && strings.HasSuffix(h.Text, "tmux -L swarm-"+s.ID()[:8]+" attach") {
			hints++
		}
		f, is := e.Fact.(event.CallFinished)
		if is && f.Call.Name == "Agent" {
			if f.IsError {
				failures = append(failures, f.Text)
			}
			if told[f.IsError]++; f.IsError && !strings.Contains(f.Text, "gave no sign of life") {
				t.Errorf("a spawn failed with: %s", f.Text)
			}
		}
	}
	t.Logf("%d spawns in %v: %d run, %d failed", good+bad, time.Since(begun).Round(time.Second), told[false], told[true])
	if told[false] != good || told[true] != bad {
		t.Errorf("%d spawns were told as running and %d as failed, not %d and %d: %q", told[false], told[true], good, bad, failures)
	}
	c.onlyTheGood(t, s, good)
	panes := panesOf(t, s)
	_, noTmux := exec.LookPath("tmux")
	inPanes := where == agent.InTmux && noTmux == nil
	if inPanes && panes != good {
		t.Errorf("%d panes for %d agents", panes, good)
	}
	if (hints == 1) != inPanes {
		t.Errorf("how to see the panes is told %d times; in panes: %v", hints, inPanes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 || panesOf(t, s) > 0 {
		t.Errorf("processes %v and %d panes are left", left, panesOf(t, s))
	}
}

// onlyTheGood checks that the agents which run have worked and that of the others
// nothing is there.
func (spawns) onlyTheGood(t *testing.T, s *Session, good int) {
	t.Helper()
	var live []string
	coordinatortest.Eventually(t, "each that runs has worked", func() bool {
		live = nil
		for _, a := range s.Agents() {
			if a.Record.Spec.Where == "" {
				continue
			}
			if live = append(live, a.Record.Spec.Name); a.Record.Turns == 0 || a.Record.Result != "found" {
				return false
			}
		}
		return true
	})
	dirs, err := filepath.Glob(filepath.Join(s.Info().Path, "nodes", "*"))
	if err != nil || len(live) != good || len(dirs) != good || len(processes(t, s.opts.StateDir)) != good {
		t.Errorf("agents %v, directories %v, processes %v, %v", live, dirs, processes(t, s.opts.StateDir), err)
	}
}

// panesOf counts the panes of a session outside of tmux.
func panesOf(t *testing.T, s *Session) int {
	t.Helper()
	out, err := exec.Command("tmux", "-L", "swarm-"+s.ID()[:8], "list-panes", "-a").Output()
	if err != nil {
		return 0 // no server, or no tmux
	}
	return strings.Count(string(out), "\n")
}

// After a restart an agent is shown as running only while a process of it lives:
// not while its executor is late, and not when it fails.
func TestProblem21_AResumedTeammateRunsOnceItsProcessLives(t *testing.T) {
	rules := `  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: work}}]}
  - when: {agent: ben, turn: 0}
    say: {stall: true}
  - say: {text: found}
`
	s := apart(t, "read how < how; [ $how = go ] || exit 3", rules, nil)
	how := func(dir, word string) {
		if err := os.WriteFile(filepath.Join(dir, "how"), []byte(word+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	how(s.opts.Dir, "go")
	sub := s.Events()
	say(t, s, "begin")
	coordinatortest.Next(t, sub, "ben's request", func(e event.Event) bool {
		_, asks := e.Fact.(event.Requested)
		return asks && e.Agent.Name == "ben"
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The owner of this one was killed before its first sign of life.
	unborn := filepath.Join(s.Info().Path, "nodes", "ann-1")
	if err := os.Mkdir(unborn, 0o700); err != nil {
		t.Fatal(err)
	}
	how(s.opts.Dir, "stop")
	o := s.opts
	o.Session = s.ID()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := watchStates(t, s, "ben")
	if err := s.Wake(); err != nil {
		t.Fatal(err)
	}
	for w.state() != "parked" {
		a := w.status()
		if a.Running || a.State.Name == "thinking" || a.State.Name == "in_tool" {
			t.Fatalf("it is shown as %+v and has no process", a.State)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(unborn); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an unborn agent left is still there: %v", err)
	}
	how(s.opts.Dir, "go")
	if _, err := s.Send("ben", "again"); err != nil { // as reported, a message starts it again
		t.Fatal(err)
	}
	coordinatortest.Next(t, w.sub, "ben's request", func(e event.Event) bool {
		_, asks := e.Fact.(event.Requested)
		return asks && e.Agent.Name == "ben"
	})
	w.within(2*time.Second, "thinking", "idle")
	if n := len(processes(t, s.opts.StateDir)); n != 1 {
		t.Errorf("%d processes run it", n)
	}
}
