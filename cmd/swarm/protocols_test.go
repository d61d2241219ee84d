package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/cli/view"
)

// protocols has a member in each protocol: ann shows a plan, cat asks for a
// permission, the lead asks a question, and ben and eve work until they are ended.
const protocols = `rules:
  - when: {agent: ann, text: 'is approved: go ahead'}
    say: {text: 'ann goes to work'}
  - when: {agent: ann, step: 0}
    say: {calls: [{tool: ExitPlanMode, input: {plan: 'look first'}}]}
  - when: {agent: cat, step: 0}
    say: {calls: [{tool: Bash, as: made, input: {command: 'echo made >> made.txt'}}]}
  - when: {agent: cat}
    say: {text: 'cat is through'}
  - when: {agent: lead, text: 'ask me'}
    say:
      calls:
        - tool: AskUserQuestion
          as: colour
          input: {questions: [{question: 'Which colour?', header: Colour, multiSelect: false, options: [{label: red, description: warm}, {label: blue, description: cold}]}]}
  - when: {agent: lead, after: AskUserQuestion}
    say: {text: 'the lead heard {{result "colour"}}'}
  - when: {agent: eve, if: '{{and (contains "asked to end" .Last) (contains "go on" (lastResult "Bash"))}}'}
    say:
      calls:
        - tool: SendMessage
          input: {to: team-lead, message: {type: shutdown_response, request_id: '{{regex "request (q[0-9a-f]+)" .Last | join ""}}', approve: true}}
  - when: {agent: eve, if: '{{contains "asked to end" .Last}}'}
    say: {calls: [{tool: Bash, input: {command: 'until test -e go; do sleep 0.1; done; echo go on'}}]}
  - when: {agent: ben}
    say: &sleep {calls: [{tool: Bash, input: {command: 'sleep 300'}}]}
  - when: {agent: eve, step: 0}
    say: *sleep
  - say: {text: ok}
`

const protocolTeam = `members:
  - {name: ann, prompt: begin, plan_mode_required: true}
  - {name: ben, prompt: begin}
  - {name: cat, prompt: begin}
  - {name: eve, prompt: begin}
`

// questions returns what the session asks, by agent, once it asks n things.
func (l *lab) questions(n int) map[string]approvalRow {
	l.Helper()
	var rows []approvalRow
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); {
		rows = nil
		if err := json.Unmarshal([]byte(l.run("approvals", "--format", "json").out), &rows); err != nil {
			l.Fatal(err)
		}
		if len(rows) == n {
			break
		}
	}
	all := map[string]approvalRow{}
	for _, r := range rows {
		all[r.Agent.Name] = r
	}
	if len(rows) != n || len(all) != n {
		l.Fatalf("the session asks %+v, want %d things", rows, n)
	}
	return all
}

// journalled waits until the session's journal has a text n times.
func (l *lab) journalled(text string, n int) {
	l.Helper()
	found := 0
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); {
		if found = l.inJournal(text); found >= n {
			return
		}
	}
	l.Fatalf("the journal has %q %d times, want %d", text, found, n)
}

func (l *lab) inJournal(text string) (n int) {
	l.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, ".home/.swarm/projects/*/one/journal/*"))
	if err != nil {
		l.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			l.Fatal(err)
		}
		n += bytes.Count(raw, []byte(text))
	}
	return n
}

func (l *lab) does(args ...string) ended {
	l.Helper()
	end := l.run(args...)
	if end.code != 0 {
		l.Errorf("swarm %s: %+v", strings.Join(args, " "), end)
	}
	return end
}

// The owner of a session is killed while a plan, a permission, a question and two
// shutdowns are under way, and again when all are decided: each comes to one
// decision, under its old id, and none is made or reported twice. Teammates in
// processes of their own live on meanwhile, and the next owner takes them over.
func TestEachProtocolComesToOneDecisionAcrossKill9(t *testing.T) {
	t.Parallel()
	t.Run("in process", func(t *testing.T) { comesToOneDecision(t, "in-process") })
	t.Run("apart", func(t *testing.T) { comesToOneDecision(t, "process") })
}

func comesToOneDecision(t *testing.T, mode string) {
	t.Parallel()
	apart := mode == "process"
	l := newLab(t, map[string]string{"s.yaml": protocols, ".claude/teams/crew.yaml": protocolTeam})
	l.env = append(l.env, "SWARM_TEAMMATE_MODE="+mode)
	l.served("--permission-prompts", "wait", "--allowedTools", "Bash(sleep *),Bash(until *)")
	l.does("team", "up", "crew")
	l.does("send", "lead", "ask me")
	before := l.questions(3)
	l.untilSeen("ben and eve work", func(all map[string]view.AgentRow) bool {
		return strings.Contains(all["ben"].StateText(), "Bash") && strings.Contains(all["eve"].StateText(), "Bash")
	})
	ben, eve := l.start("down", "ben", "--grace", "1s"), l.start("down", "eve", "--grace", "5m")
	l.journalled(`"phase":"asked"`, 2)
	l.kill()
	for _, p := range []*process{ben, eve} {
		if end := p.wait(); end.code == 0 {
			t.Errorf("down with a killed owner: %+v", end)
		}
	}
	l.does("serve", "--detach", "--resume", "one", "--permission-prompts", "wait")
	after := l.questions(3)
	for name, q := range before {
		if again := after[name]; again.ID != q.ID || !again.Asked.Equal(q.Asked) {
			t.Errorf("after the kill %+v is asked, before it was %+v", again, q)
		}
	}
	if end := l.does("down", "ben"); !strings.Contains(end.out, "ben has ended: the grace time ran out") {
		t.Errorf("ben: %+v", end)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if end := l.does("down", "eve", "--grace", "5m"); !strings.Contains(end.out, "eve has ended: agreed") {
		t.Errorf("eve: %+v", end)
	}
	l.does("approvals", "allow", before["ann"].ID)
	l.does("approvals", "allow", before["cat"].ID)
	l.does("approvals", "answer", before["team-lead"].ID, "blue")
	idle := func(all map[string]view.AgentRow) bool {
		return !slices.ContainsFunc([]string{"ann", "cat", "lead"}, func(n string) bool { return all[n].Running || all[n].Steps < 2 })
	}
	l.untilSeen("all have gone on", idle)
	l.kill()

	l.does("serve", "--detach", "--resume", "one", "--permission-prompts", "wait")
	l.untilSeen("all are idle", idle)
	l.questions(0)
	for name, q := range before {
		if late := l.run("approvals", "allow", q.ID); late.code == 0 {
			t.Errorf("a second decision for %s: %+v", name, late)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(l.dir, "made.txt")); err != nil || string(raw) != "made\n" {
		t.Errorf("made.txt holds %q, %v", raw, err)
	}
	for name, said := range map[string]string{"ann": "go ahead", "lead": "Which colour?\\n  blue"} {
		home := ".home/.swarm/projects/*/one/"
		if apart && name != "lead" {
			home += "nodes/" + name + "-*/"
		}
		raw, err := os.ReadFile(l.one(home + "transcripts/" + name + "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, `"role":"user"`) && strings.Contains(line, said) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%s was told %q %d times", name, said, told)
		}
	}
	for _, text := range []string{`"phase":"ending"`, `"phase":"gone"`} {
		if n := l.inJournal(text); n != 2 {
			t.Errorf("the journal has %s %d times, want 2", text, n)
		}
	}
	for _, name := range []string{"ben", "eve"} {
		if end := l.run("send", name, "hello"); end.code == 0 {
			t.Errorf("%s can be written to: %+v", name, end)
		}
	}
}
