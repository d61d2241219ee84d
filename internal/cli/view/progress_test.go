package view

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/clitest"
	"github.com/actorswarm/swarm/model"
	"github.com/google/go-cmp/cmp"
)

func shown(verbose, color bool, events []event.Event) string {
	var b strings.Builder
	p := NewProgress(cli.Screen{Out: &b, Color: color}, "/repo", verbose)
	for _, e := range events {
		p.Handle(e)
	}
	return b.String()
}

func TestProgressIsOneQuietLinePerStep(t *testing.T) {
	got := shown(false, false, clitest.Story())
	clitest.Golden(t, "quiet.txt", got)
	for line := range strings.SplitSeq(got, "\n") {
		if utf8.RuneCountInString(line) > cli.PlainWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

func TestFailuresAreShownInFull(t *testing.T) {
	reason := strings.Repeat("this is a reason of some length; ", 6) + "change the mode"
	got := shown(false, false, clitest.Timed(
		clitest.Of(clitest.Security, event.Denied{Call: clitest.Call("c", "Bash", `{"command":"`+strings.Repeat("rm -rf ", 50)+`"}`), Reason: reason}),
		clitest.Of(clitest.Security, event.BackingOff{Backoff: model.Backoff{Attempt: 2, MaxAttempts: 10, Delay: time.Second, Reason: "model: " + reason}}),
		clitest.Of(clitest.Security, event.Warning{Text: reason}),
		clitest.Of(clitest.Security, event.TurnEnded{Outcome: "failed", Reason: "model: " + reason, Steps: 1}),
	))
	if n := strings.Count(strings.Join(strings.Fields(got), " "), reason); n != 4 {
		t.Errorf("%d of 4 reasons are whole", n)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if utf8.RuneCountInString(line) > cli.PlainWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	if strings.Contains(got, "model: ") {
		t.Error("the package that an error comes from is shown")
	}
}

func TestVerboseKeepsTheColumnsOfAText(t *testing.T) {
	read := clitest.Call("c", "Read", `{"file_path":"/repo/a"}`)
	got := shown(true, false, clitest.Timed(clitest.Of(clitest.Lead, event.CallFinished{Call: read, Text: "\n     1\tone\n     2\ttwo\n"})))
	if want := "         1    one\n         2    two\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got:\n%s", got)
	}
}

func TestTreeKeepsToTheWidthUnderASession(t *testing.T) {
	row := AgentRow{ID: "x", Name: "general-purpose-0123456789abcdef", Type: "general-purpose", State: "stopped", Detail: "stopped"}
	table := SessionTable(cli.Screen{Out: &strings.Builder{}}, []SessionRow{{ID: "0123456789", Running: true, Agents: []AgentRow{row}}}, time.Now())
	for line := range strings.SplitSeq(table, "\n") {
		if utf8.RuneCountInString(line) > cli.PlainWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	if strings.Contains(table, "stopped stopped") {
		t.Errorf("the state is said twice:\n%s", table)
	}
}

func TestTreeTellsOfOldProgress(t *testing.T) {
	w := treeWriter{now: time.Unix(1000, 0)}
	for want, p := range map[string]AgentRow{
		"thinking 2.0s · 0 steps":                               {State: "thinking", Since: w.now.Add(-2 * time.Second), Progress: w.now},
		"thinking 3m00s · 0 steps · 0 tokens · no progress":     {State: "thinking", Since: w.now.Add(-3 * time.Minute), Progress: w.now.Add(-3 * time.Minute)},
		"waiting for child 3m00s · 0 steps · 0 tokens · quiet":  {State: "waiting", Detail: "child", Since: w.now.Add(-3 * time.Minute), Progress: w.now.Add(-time.Second), Type: "quiet"},
		"waiting for permission 3m00s · 0 steps · 0 tokens · x": {State: "waiting", Detail: "permission", Since: w.now.Add(-3 * time.Minute), Type: "x"},
		"stopped by lead 3m":                                    {State: "stopped", Detail: "by team-lead", Since: w.now.Add(-3 * time.Minute)},
		"stopped by ann 3m":                                     {State: "stopped", Detail: "by ann", Since: w.now.Add(-3 * time.Minute)},
	} {
		p.Running = true
		if got := w.about(p); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestVerboseShowsInputsResultsAndTexts(t *testing.T) {
	clitest.Golden(t, "verbose.txt", shown(true, false, clitest.Story()))
}

func TestColoursAreThoseOfTheDefinitionOrStable(t *testing.T) {
	once, again := shown(false, true, clitest.Story()), shown(false, true, clitest.Story())
	if once != again {
		t.Error("two runs differ in their colours")
	}
	if !strings.Contains(once, "\x1b[31msecurity\x1b[0m  started") {
		t.Errorf("security is not red:\n%q", once)
	}
	clitest.Golden(t, "color.txt", strings.ReplaceAll(once, "\x1b", "␛"))
}

func TestDescribeCall(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"Grep", `{"pattern":"a\"b"}`, `Grep "a\"b"`},
		{"Grep", `{"pattern":"x","path":"/repo"}`, `Grep "x"`},
		{"Grep", `{"pattern":"x","path":"/elsewhere"}`, `Grep "x" in /elsewhere`},
		{"Glob", `{"pattern":"**/*.go"}`, "Glob **/*.go"},
		{"Read", `{"file_path":"/repo/a/b.go"}`, "Read a/b.go"},
		{"Read", `{"file_path":"/repository/b.go"}`, "Read /repository/b.go"},
		{"Bash", `{"command":"go test ./...\nls"}`, "Bash go test ./..."},
		{"Task", `{"description":"look"}`, "Task general-purpose: look"},
		{"TaskStop", `{"task_id":"a1"}`, "TaskStop a1"},
		{"ListAgents", `{}`, "ListAgents"},
		{"AskUserQuestion", `{"questions":[{"question":"Which?\nSay."},{"question":"When?"}]}`, "AskUserQuestion Which? · When?"},
		{"mcp__x", `{"a": [1, 2]}`, `mcp__x {"a":[1,2]}`},
		{"Odd", `"text"`, "Odd"},
	} {
		if got := describeCall(clitest.Call("c", c.name, c.input), "/repo"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.input, got, c.want)
		}
	}
}

func TestSpansAndTokensAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 400 * time.Millisecond: "0.4s", 12 * time.Second: "12s", 200 * time.Second: "3m20s",
		5 * time.Hour: "5h00m", 72 * time.Hour: "3d",
	} {
		if got := duration(d); got != want {
			t.Errorf("span(%v) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 4100: "4.1k", 999_949: "999.9k", 999_950: "1.0M", 2_340_000: "2.3M"} {
		if got := tokens(model.Usage{InputTokens: n}); got != want {
			t.Errorf("tokens(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestEveryFactComesBackFromTheWire(t *testing.T) {
	for _, e := range clitest.Story() {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		back, ok, err := event.Parse(raw)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", raw, ok, err)
		}
		if diff := cmp.Diff(shown(true, true, []event.Event{e}), shown(true, true, []event.Event{back})); diff != "" {
			t.Errorf("%T is shown differently (-sent +received):\n%s", e.Fact, diff)
		}
	}
	if _, ok, err := event.Parse([]byte(`{"type":"of_tomorrow","fact":{}}`)); ok || err != nil {
		t.Errorf("an unknown fact: %v, %v", ok, err)
	}
	if _, _, err := event.Parse([]byte(`{`)); err == nil {
		t.Error("half an event was read")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	v := NewText(cli.Screen{Out: io.Discard}, "", false, fullDisk{})
	if err := v.Finish(RunResult{Result: swarm.Result{Text: "done"}}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("Finish returned %v", err)
	}
}
