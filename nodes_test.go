package swarm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
)

// TeammateForTest is swarm teammate for the processes that tests start.
func TeammateForTest(args []string) int {
	value := func(name string) string { return args[slices.Index(args, name)+1] }
	launch, err := strconv.Atoi(value("--launch"))
	if err != nil {
		return 2
	}
	ctx := context.Background()
	n, err := OpenNode(ctx, NodeOptions{
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
	o.Policy.Where = actors.InProcess
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

// processes returns those whose command line names a session's state.
func processes(t *testing.T, state string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		raw, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if err == nil && pid != os.Getpid() && strings.Contains(string(raw), state) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestProblem21_RunningMeansASignOfLife spawns teammates whose executor starts
// at once, late, not at all, or dies on the way. Those that run have given a sign
// of life; of the others nothing is left, not even the name.
func TestProblem21_RunningMeansASignOfLife(t *testing.T) {
	const each = 2
	kinds := []string{"good", "late", "fails", "lacks", "dies", "hangs"}
	var first, again strings.Builder
	for _, round := range []*strings.Builder{&first, &again} {
		for i := range each {
			for _, kind := range kinds {
				if round == &first || kind != "good" && kind != "late" {
					fmt.Fprintf(round, "        - {tool: Agent, input: {name: %s%d, description: d, prompt: work}}\n", kind, i)
				}
			}
		}
	}
	s := apart(t, `case "$*" in
*--agent-name\ late*) sleep 0.7 ;;
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
`, func(o *Options) { o.firstSign = 6 * time.Second })
	sub := s.Events()
	if _, err := s.Run(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	told := map[bool]int{}
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f, is := e.Fact.(event.CallFinished)
		if is && f.Call.Name == "Agent" {
			if told[f.IsError]++; f.IsError && !strings.Contains(f.Text, "gave no sign of life") {
				t.Errorf("a spawn failed with: %s", f.Text)
			}
		}
		if told[true]+told[false] == each*(6+4) {
			break
		}
	}
	if told[false] != 2*each || told[true] != 8*each {
		t.Errorf("%d spawns were told as running and %d as failed", told[false], told[true])
	}
	var live []string
	for _, a := range s.Agents() {
		if a.Life.Spec.Where != "" {
			live = append(live, a.Life.Spec.Name)
			if a.Life.Turns == 0 || a.Life.Result != "found" {
				t.Errorf("%s runs and has done nothing: %+v", a.Life.Spec.Name, a.Life)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(s.info.Path, "nodes", "*"))
	if err != nil || len(live) != 2*each || len(dirs) != 2*each || len(processes(t, s.opts.StateDir)) != 2*each {
		t.Errorf("agents %v, directories %v, processes %v, %v", live, dirs, processes(t, s.opts.StateDir), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
