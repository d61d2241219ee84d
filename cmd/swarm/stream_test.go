package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

var uuids = regexp.MustCompile(`"uuid":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`)

func normal(text string) string {
	return strings.ReplaceAll(uuids.ReplaceAllString(text, `"uuid":"UUID"`), cli.Version(), "VERSION")
}

func testStream(out *bytes.Buffer, forward bool) *streamView {
	return &streamView{
		out: out, session: "one", forward: forward, transcripts: "/state/transcripts",
		setup: func() setup {
			return setup{
				Dir: "/repo", Model: "sonnet", Mode: "default", KeySource: "none",
				Tools: []string{"Read", "Agent"}, Agents: []string{"Explore", "reviewer"},
			}
		},
		tally: newTally(), tasks: map[mailbox.AgentID]*task{}, mail: map[mailbox.ID]mailLine{},
	}
}

func goodEnd() verdict {
	u := model.Usage{InputTokens: 8000, OutputTokens: 200, CacheReadInputTokens: 7}
	cost := swarm.Cost{USD: swarm.Dollar * 18 / 1000}
	return verdict{Result: swarm.Result{
		Session: "one", Text: "All is <well>.", Outcome: "completed", Steps: 2, Usage: u,
		Tree: map[string]swarm.ModelUse{"claude-sonnet-5-5": {Usage: u, Cost: cost}}, Cost: cost, Agents: 3, Took: 5 * time.Second,
	}}
}

func TestStreamShapes(t *testing.T) {
	for name, forward := range map[string]bool{"stream.jsonl": false, "stream-forward.jsonl": true} {
		var b bytes.Buffer
		v := testStream(&b, forward)
		for _, e := range story() {
			v.See(e)
		}
		if err := v.Finish(goodEnd()); err != nil {
			t.Fatal(err)
		}
		golden(t, name, normal(b.String()))
		checkLines(t, b.String())
	}
}

// checkLines holds a stream to what every reader relies on.
func checkLines(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	seen := map[string]bool{}
	for i, line := range lines {
		var l struct {
			Type, Subtype, UUID string
			Session             string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("line %d is not JSON: %v: %s", i+1, err, line)
		}
		if l.UUID == "" || seen[l.UUID] || l.Session == "" {
			t.Errorf("line %d has no uuid of its own or no session: %s", i+1, line)
		}
		seen[l.UUID] = true
		if first := l.Type == "system" && l.Subtype == "init"; first != (i == 0) {
			t.Errorf("line %d is %s/%s: init comes first and once", i+1, l.Type, l.Subtype)
		}
		if last := l.Type == "result"; last != (i == len(lines)-1) {
			t.Errorf("line %d is %s/%s: the result comes last and once", i+1, l.Type, l.Subtype)
		}
	}
}

func TestResultShapes(t *testing.T) {
	var b bytes.Buffer
	for _, v := range []verdict{
		goodEnd(),
		{Result: swarm.Result{Session: "one", Outcome: "max_turns", Reason: "the limit of 2 turns is reached", Text: "so far", Steps: 2}},
		{Result: swarm.Result{Session: "one", Outcome: "failed", Reason: "the API refused the credentials", Steps: 1}},
		{Result: swarm.Result{Session: "one"}, Err: errors.New("interrupted")},
	} {
		tally := newTally()
		for _, e := range story() {
			tally.See(e)
		}
		view := &jsonView{out: &b, tally: tally}
		if err := view.Finish(v); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "result.jsonl", normal(b.String()))
}

func TestAnInterruptSaysWhatItHasCut(t *testing.T) {
	cut := verdict{Result: swarm.Result{Outcome: "interrupted"}, Err: swarm.ErrInterrupted}
	asked := of(lead, event.Requested{Step: 0})
	for want, events := range map[string][]event.Event{
		"aborted_streaming": timed(asked),
		"aborted_tools":     timed(asked, of(lead, answered("", model.Usage{}, call("c", "Bash", `{}`)))),
	} {
		tally := newTally()
		for _, e := range events {
			tally.See(e)
		}
		if got := tally.result(cut).Terminal; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestStreamOfARealRun(t *testing.T) {
	l := terminalLab(t)
	end := l.run("run", "--output-format", "stream-json", "--verbose", "--model", "script:s.yaml", "look")
	if end.code != 0 || end.err != "" {
		t.Fatalf("%+v", end)
	}
	checkLines(t, end.out)
	for _, want := range []string{
		`"tools":["Read",`, `"Task"`, `"subtype":"task_started"`, `"subtype":"task_notification"`, `"type":"user"`,
		`"tool_use_result":{`, `"status":"teammate_spawned"`, `"name":"security","is_backgrounded":true`, `"kind":"idle","state":"read"`,
	} {
		if !strings.Contains(end.out, want) {
			t.Errorf("no %s in:\n%s", want, end.out)
		}
	}
}

func TestAForkEntersItsCopyOfTheConversation(t *testing.T) {
	l := newLab(t, map[string]string{"s.yaml": `rules:
  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {subagent_type: fork, description: look closer, prompt: look}}]}
  - say: {text: seen}
`})
	end := l.run("run", "--output-format", "stream-json", "--verbose", "--model", "script:s.yaml", "look")
	if end.code != 0 || strings.Count(end.out, `"status":"sub_agent_entered"`) != 1 || !strings.Contains(end.out, `"status":"completed"`) {
		t.Errorf("%+v", end)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	s := testStream(nil, false)
	told := 0
	s.out, s.unread = fullDisk{}, func() { told++ }
	for _, e := range story() {
		s.See(e)
	}
	if err := s.Finish(goodEnd()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("stream-json: %v", err)
	}
	if told != 1 {
		t.Errorf("the session was told %d times that nobody reads", told)
	}
	j := &jsonView{out: fullDisk{}, tally: newTally()}
	if err := j.Finish(goodEnd()); err == nil {
		t.Error("json: no error")
	}
	x := &textView{progress: newProgress(cli.Screen{Out: io.Discard}, "", false), answer: fullDisk{}}
	if err := x.Finish(goodEnd()); err == nil {
		t.Error("text: no error")
	}
}
