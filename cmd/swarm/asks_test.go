package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli/view"
)

// waitingFor returns what the agents of a session ask, once so many do.
func (l *lab) waitingFor(n int) map[string]swarm.Question {
	l.Helper()
	again, late := time.NewTicker(50*time.Millisecond), time.After(60*time.Second)
	defer again.Stop()
	for {
		var rows []approvalRow
		end := l.run("approvals", "--format", "json")
		if err := json.Unmarshal([]byte(end.out), &rows); err != nil {
			l.Fatalf("%v: %+v", err, end)
		}
		by := map[string]swarm.Question{}
		for _, r := range rows {
			by[r.Agent.Name] = r.Question
		}
		if len(by) == n && len(rows) == n {
			return by
		}
		select {
		case <-again.C:
		case <-late:
			l.Fatalf("%d ask, not %d: %s", len(rows), n, end.out)
		}
	}
}

// gated is a lead with twelve teammates that each want to run one command.
func gated(n int) string {
	var b strings.Builder
	b.WriteString("rules:\n  - when: {agent: lead, text: 'make them'}\n    say:\n      calls:\n")
	for i := range n {
		fmt.Fprintf(&b, "        - {tool: Agent, input: {name: w%02d, description: d, prompt: work}}\n", i)
	}
	b.WriteString("  - when: {agent: lead}\n    say: {text: \"Noted.\"}\n")
	for i := range n {
		fmt.Fprintf(&b, "  - when: {agent: w%02d, step: 0}\n    say: {calls: [{tool: Bash, input: {command: 'echo once >> made-%02d'}}]}\n", i, i)
	}
	b.WriteString("  - say: {text: 'it said: {{lastResult \"Bash\"}}'}\n")
	return b.String()
}

// Twelve teammates want to run something that nobody has allowed and nobody looks
// on. The session is killed and begun again; six are allowed with a note, three
// denied, and three expire.
func TestProblem8_QuestionsWaitForAPersonAcrossKill9(t *testing.T) {
	t.Parallel()
	const all, allowed, denied = 12, 6, 9
	l := newLab(t, map[string]string{"s.yaml": gated(all)})
	l.served("--ask-timeout", "25s", "make them")
	last, unseen := l.allWaiting(all)
	before := l.waitingFor(all)
	asked := time.Time{}
	for _, q := range before {
		if q.Asked.After(asked) {
			asked = q.Asked
		}
	}
	if unseen.After(asked.Add(time.Second)) {
		t.Errorf("swarm ps that was begun %v after the last question does not show it", unseen.Sub(asked))
	}
	t.Logf("swarm ps has shown %d waiting %v after the last question", all, last.Sub(asked).Round(time.Millisecond))
	nothingMade(l)
	l.kill()
	if end := l.run("serve", "--detach", "--resume", "one", "--ask-timeout", "25s"); end.code != 0 {
		t.Fatalf("%+v", end)
	}
	after := l.waitingFor(all)
	if n := isWaiting(l.seen()); n != all { // the very next look shows what is asked
		t.Errorf("the status shows %d that wait: %+v", n, l.seen())
	}
	nothingMade(l)
	for name, was := range before {
		if is := after[name]; is.ID != was.ID || !is.Expires.Equal(was.Expires) {
			t.Errorf("%s asked %+v and asks %+v", name, was, is)
		}
	}
	for i := range denied {
		id := after[fmt.Sprintf("w%02d", i)].ID
		args := []string{"approvals", "allow", id, "--note", fmt.Sprintf("note for %02d", i)}
		if i >= allowed {
			args = []string{"approvals", "deny", id}
		}
		if end := l.run(args...); end.code != 0 {
			t.Errorf("%v: %+v", args, end)
		}
	}
	l.untilSeen("all have had their answer", func(all map[string]view.AgentRow) bool {
		return !slices.ContainsFunc(others(all), func(name string) bool { return all[name].Running || all[name].Turns == 0 })
	})
	for i := range all {
		want := fmt.Sprintf("note for %02d", i)
		switch {
		case i >= denied:
			want = "expired: nobody answered within 25s"
		case i >= allowed:
			want = "denied by the user"
		}
		if end := l.run("result", fmt.Sprintf("w%02d", i)); !strings.Contains(end.out, want) {
			t.Errorf("w%02d heard %+v, want %s", i, end, want)
		}
		lines, err := os.ReadFile(filepath.Join(l.dir, fmt.Sprintf("made-%02d", i)))
		if ran := strings.Count(string(lines), "once"); i < allowed && (err != nil || ran != 1) || i >= allowed && ran != 0 {
			t.Errorf("the command of w%02d ran %d times", i, ran)
		}
	}
}

// allWaiting looks at the session until so many are shown to wait. It returns when
// that was, and when the last look began that did not show it.
func (l *lab) allWaiting(n int) (shown, unseen time.Time) {
	l.Helper()
	for limit := time.Now().Add(time.Minute); ; {
		begun := time.Now()
		all := l.seen()
		if isWaiting(all) == n {
			return time.Now(), unseen
		}
		if unseen = begun; unseen.After(limit) {
			l.Fatalf("%d are not seen to wait: %+v", n, all)
		}
	}
}

// isWaiting counts those who are shown to wait for a permission.
func isWaiting(all map[string]view.AgentRow) (n int) {
	for _, a := range all {
		if a.State == "waiting" && strings.Contains(a.Detail, "permission") {
			n++
		}
	}
	return n
}

func nothingMade(l *lab) {
	l.Helper()
	made, err := filepath.Glob(filepath.Join(l.dir, "made-*"))
	if err != nil || len(made) > 0 {
		l.Errorf("%v ran before it was allowed, %v", made, err)
	}
}

// inquisitive is a tree of agents in which each of five asks something of its own,
// and another works on.
const inquisitive = `rules:
  - when: {agent: lead, text: 'make them'}
    say:
      calls:
        - {tool: Agent, input: {subagent_type: one, description: d, prompt: ask, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: uno, description: d, prompt: ask, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: worker, description: d, prompt: work, run_in_background: true}}
  - when: {agent: lead}
    say: {text: "Noted."}
  - when: {agent: one, step: 0}
    say:
      calls:
        - {tool: Agent, input: {subagent_type: two, description: d, prompt: ask, run_in_background: true}}
        - {tool: Agent, input: {subagent_type: due, description: d, prompt: ask, run_in_background: true}}
        - &asks {tool: AskUserQuestion, as: asked, input: {questions: [{question: 'What next?', header: Next, multiSelect: false, options: [{label: rest, description: r}, {label: go, description: g}]}]}}
  - when: {agent: two, step: 0}
    say:
      calls:
        - {tool: Agent, input: {subagent_type: three, description: d, prompt: ask, run_in_background: true}}
        - *asks
  - when: {agent: worker, text: 'through'}
    say: {text: 'worked'}
  - when: {agent: worker}
    say: {calls: [{tool: Bash, input: {command: 'until test -e end; do echo tick >> ticks; sleep 0.1; done; echo through'}}]}
  - when: {step: 0}
    say: {calls: [*asks]}
  - say: {text: 'I was told: {{result "asked"}}'}
`

// Five agents at three depths ask a person; the session is killed, and another
// process answers them in another order. Each gets its own answer, and an agent that did
// not ask continues.
func TestProblem38_AgentsAtEveryDepthAskAndHearTheirOwnAnswer(t *testing.T) {
	t.Parallel()
	files := map[string]string{"s.yaml": inquisitive}
	for _, name := range []string{"one", "uno", "two", "due", "three", "worker"} {
		files[".claude/agents/"+name+".md"] = "---\nname: " + name + "\ndescription: Asks.\ntools: AskUserQuestion, Agent, Bash\n---\nAsk.\n"
	}
	l := newLab(t, files)
	l.served("--permission-prompts", "wait", "--allowedTools", "Bash,Agent", "make them")
	before := l.waitingFor(5)
	l.kill()
	if end := l.run("serve", "--detach", "--resume", "one", "--permission-prompts", "wait"); end.code != 0 {
		t.Fatalf("%+v", end)
	}
	after := l.waitingFor(5)
	agents := l.seen()
	depth := func(name string) int {
		n, byID := 0, map[string]view.AgentRow{}
		for _, a := range agents {
			byID[string(a.ID)] = a
		}
		for a := agents[name]; a.Parent != ""; a = byID[string(a.Parent)] {
			n++
		}
		return n
	}
	depths := map[int]int{}
	for name, was := range before {
		if after[name].ID != was.ID {
			t.Errorf("%s asked %+v and asks %+v", name, was, after[name])
		}
		depths[depth(name)]++
	}
	if depths[1] != 2 || depths[2] != 2 || depths[3] != 1 {
		t.Errorf("those who ask are at the depths %v: %+v", depths, agents)
	}
	ticked := len(l.lines(filepath.Join(l.dir, "ticks")))
	names := make([]string, 0, len(after))
	for name := range after {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return after[b].Asked.Compare(after[a].Asked) }) // the last first
	answering := &lab{T: t, dir: subDir(t, l), env: l.env}
	for _, name := range names {
		if end := answering.run("approvals", "answer", "--dir", l.dir, after[name].ID, "words for", name); end.code != 0 {
			t.Errorf("%s: %+v", name, end)
		}
	}
	l.untilSeen("those who asked are done", func(all map[string]view.AgentRow) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return all[name].Running || all[name].State == "waiting" })
	})
	for _, name := range names {
		heard := l.run("result", name)
		if !strings.Contains(heard.out, "words for "+name) || strings.Count(heard.out, "words for") != 1 {
			t.Errorf("%s heard %+v", name, heard)
		}
	}
	l.untilSeen("the worker works on", func(all map[string]view.AgentRow) bool {
		return len(l.lines(filepath.Join(l.dir, "ticks"))) > ticked
	})
	if err := os.WriteFile(filepath.Join(l.dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
