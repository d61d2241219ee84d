package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
)

// askingScript is a lead that runs a command nobody allowed and then has a question.
const askingScript = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Bash, as: ran, input: {command: 'echo once >> ran.log'}}
        - tool: AskUserQuestion
          as: colour
          input: {questions: [{question: 'Which colour?', header: Colour, multiSelect: false, options: [{label: red, description: warm}, {label: blue, description: cold}]}]}
  - when: {agent: lead}
    say: {text: '{{result "ran"}} {{result "colour"}}'}
`

// asked waits until a session asks something of a kind.
func (l *lab) asked(kind event.QuestionKind) swarm.Question {
	l.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); {
		var rows []approvalRow
		if err := json.Unmarshal([]byte(l.run("approvals", "--format", "json").out), &rows); err != nil {
			l.Fatal(err)
		}
		if len(rows) == 1 && rows[0].Kind == kind {
			return rows[0].Question
		}
	}
	l.Fatalf("nobody asks for %s", kind)
	return swarm.Question{}
}

// A session is killed while it asks, and again after the answer: it asks again
// under the same id, and what was answered is neither asked nor done again.
func TestQuestionsSurviveKill9(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": askingScript})
	p := l.start("run", "--session-id", "one", "--model", "script:s.yaml", "--permission-prompts", "wait", "go")
	first := l.asked(event.AsksPermission)
	p.signal(syscall.SIGKILL)
	p.wait()

	p = l.start("resume", "one", "--permission-prompts", "wait")
	if again := l.asked(event.AsksPermission); again.ID != first.ID || !again.Asked.Equal(first.Asked) {
		t.Errorf("after the kill %+v is asked, before it was %+v", again, first)
	}
	if end := l.run("approvals", "allow", first.ID, "--note", "be quick"); end.code != 0 {
		t.Fatalf("allow: %+v", end)
	}
	second := l.asked(event.AsksAnswer)
	p.signal(syscall.SIGKILL)
	p.wait()

	p = l.start("resume", "one", "--permission-prompts", "wait")
	if again := l.asked(event.AsksAnswer); again.ID != second.ID {
		t.Errorf("after the kill %+v is asked, before it was %+v", again, second)
	}
	if late := l.run("approvals", "deny", first.ID); late.code == 0 || !strings.Contains(late.err, "there is no open question") {
		t.Errorf("a late answer: %+v", late)
	}
	if end := l.run("approvals", "answer", second.ID, "blue"); end.code != 0 {
		t.Fatalf("answer: %+v", end)
	}
	if end := p.wait(); end.code != 0 || !strings.Contains(end.out, "with the note: be quick") || !strings.Contains(end.out, "Which colour?\n  blue") {
		t.Errorf("the lead heard: %+v", end)
	}
	if ran := l.lines(l.dir + "/ran.log"); len(ran) != 1 {
		t.Errorf("the command ran %d times", len(ran))
	}
}

func TestAnswerOf(t *testing.T) {
	colour := event.Choice{Question: "Which colour?", Options: []event.Option{{Label: "red"}, {Label: "blue, dark"}}}
	sizes := event.Choice{Question: "Which sizes?", Options: []event.Option{{Label: "S"}, {Label: "M"}, {Label: "L"}}, MultiSelect: true}
	q := swarm.Question{ID: "q", Kind: event.AsksAnswer, Choices: []event.Choice{colour, sizes}}
	for _, c := range []struct{ words, want string }{
		{"2|1,3", `[["blue, dark"],["S","L"]]`},
		{"RED|m", `[["red"],["M"]]`},
		{"blue, dark|S, XL", `[["blue, dark"],["S, XL"]]`},
		{"green|all of them", `[["green"],["all of them"]]`},
		{"9|0", `[["9"],["0"]]`},
	} {
		a, err := parseAnswer(q, strings.Split(c.words, "|"))
		if got, _ := json.Marshal(a.Choices); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", c.words, got, err)
		}
	}
	if a, err := parseAnswer(q, []string{"whatever", "you", "like"}); err != nil || a.Text != "whatever you like" || a.Choices != nil {
		t.Errorf("other words: %+v, %v", a, err)
	}
	if a, err := parseAnswer(q, []string{" "}); err == nil {
		t.Errorf("an empty answer counts: %+v", a)
	}
}
