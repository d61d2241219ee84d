package swarm

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/team/board"
)

// ten are the members of a team that is to end: four rest, one of them with a task in
// hand, two are in a command of ten minutes, one gets no answer of its model, for one the
// conversation does not fit, one refuses once, and one is dead.
var ten = []string{"idle1", "idle2", "idle3", "holder", "tool1", "tool2", "hang", "full", "refuser", "dead"}

func endingRules() string {
	var b strings.Builder
	b.WriteString("  - when: {agent: lead, step: 0}\n    say:\n      calls:\n        - {tool: TaskCreate, input: {subject: one, description: d}}\n")
	for _, name := range ten {
		fmt.Fprintf(&b, "        - {tool: Agent, input: {name: %s, description: d, prompt: begin}}\n", name)
	}
	return b.String() + `  - when: {agent: holder, step: 0}
    say: {calls: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]}
  - when: {agent: "tool*", text: 'asked to end your work'}
    say: {text: I end}
  - when: {agent: "tool*"}
    say: {calls: [{tool: Bash, input: {command: 'echo up > up; sleep 614'}}]}
  - when: {agent: hang}
    say: {text: x, stall: true}
  - when: {agent: full}
    say: {error: {status: 400, message: 'prompt is too long: 210000 tokens'}}
` + strings.ReplaceAll(objector, "agent: ben", "agent: refuser")
}

// TestProblem10_NothingIsLeftOfThoseInProcesses: the ten are in processes of their own,
// or in panes, and are gone in time with all that they had.
func TestProblem10_NothingIsLeftOfThoseInProcesses(t *testing.T) {
	t.Run("processes", func(t *testing.T) { endTen(t, agent.InProcess) })
	t.Run("panes", func(t *testing.T) {
		if _, err := exec.LookPath("tmux"); err != nil {
			t.Skip("tmux is not here")
		}
		t.Setenv("TMUX", "")
		t.Setenv("TMUX_TMPDIR", t.TempDir())
		endTen(t, agent.InTmux)
	})
}

func endTen(t *testing.T, where agent.Place) {
	grace, limit := 2*time.Second, time.Minute // on a loaded machine
	if os.Getenv("SWARM_SOAK") != "" {
		grace, limit = 5*time.Second, 10*time.Second
	}
	s := apart(t, "", endingRules(), func(o *Options) { o.Policy.Where = where })
	up := words(t, s, "up")
	say(t, s, "begin")
	for n := 0; n < 2; {
		n += strings.Count(up(), "up")
	}
	life := func(name string) (l agent.Record, state string) {
		for _, a := range s.Agents() {
			if a.Record.Spec.Name == name {
				l, state = a.Record, a.State.Name
			}
		}
		return l, state
	}
	rested := func(name string) bool { l, _ := life(name); return l.Turns > 0 && !l.TurnOpen }
	coordinatortest.Eventually(t, "all are where they are to be", func() bool {
		full, _ := life("full")
		_, hang := life("hang")
		return hang == "thinking" && full.Outcome == agent.Failed &&
			!slices.ContainsFunc([]string{"idle1", "idle2", "idle3", "holder", "refuser", "dead", "full"}, func(name string) bool { return !rested(name) })
	})
	if l, _ := life("full"); !strings.Contains(l.Reason, "too long") {
		t.Errorf("the one that is to be out of context is %+v", l)
	}
	if err := s.Kill(t.Context(), "dead"); err != nil {
		t.Fatal(err)
	}
	if n := len(processes(t, s.opts.StateDir)); n != len(ten)-1 || where == agent.InTmux && panesOf(t, s) < n {
		t.Fatalf("%d processes and %d panes: nothing would be shown by their end", n, panesOf(t, s))
	}
	if task := onlyTask(t, s); task.Claim == nil {
		t.Fatalf("the task is not had, so nothing is shown by its end: %+v", task)
	}
	begun := time.Now()
	all, err := s.Down(t.Context(), ten, grace)
	took := time.Since(begun)
	if err != nil || len(all) != len(ten) {
		t.Errorf("%+v, %v", all, err)
	}
	t.Logf("%d members were gone after %v", len(all), took.Round(time.Millisecond))
	for _, d := range all {
		if !d.Gone || (d.Name == "refuser") != (d.Objection == "half way") {
			t.Errorf("%+v", d)
		}
	}
	if took > limit {
		t.Errorf("they were gone after %v", took)
	}
	s.noneOfTen(t)
	if again, err := s.Down(t.Context(), ten, grace); err != nil || len(again) != len(ten) {
		t.Errorf("the second time: %+v, %v", again, err)
	}
}

// noneOfTen fails if anything of the ten is left.
func (s *Session) noneOfTen(t *testing.T) {
	t.Helper()
	if left := processes(t, s.opts.StateDir); len(left) > 0 || panesOf(t, s) > 0 {
		t.Errorf("processes %v and %d panes are left", left, panesOf(t, s))
	}
	coordinatortest.Eventually(t, "the task is free", func() bool {
		task := onlyTask(t, s)
		return task.Claim == nil && task.Owner == "" && task.Status == board.Pending
	})
	for _, name := range ten {
		if _, err := s.Send(name, "are you there?"); err == nil {
			t.Errorf("%s can still be written to", name)
		}
	}
	for _, a := range s.Agents() {
		if id := a.Record.Spec.ID; a.Running || s.fleet.Process(id) != nil {
			t.Errorf("%s runs or has a process", agent.DisplayName(a.Record.Spec))
		}
	}
	members, err := s.roster.Members()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if slices.Contains(ten, m.Record.Spec.Name) {
			t.Errorf("%s is still in the roster", m.Record.Spec.Name)
		}
	}
}

func onlyTask(t *testing.T, s *Session) board.Task {
	t.Helper()
	all, err := s.Tasks(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}
