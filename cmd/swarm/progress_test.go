package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/google/go-cmp/cmp"
)

var (
	lead     = event.Agent{ID: "lead", Name: "team-lead", Type: "lead"}
	security = event.Agent{ID: "asecurity-1", Name: "security", Type: "reviewer", Color: "red", Parent: "lead", Call: "call_2"}
	nameless = event.Agent{ID: "explore-01234567", Name: "explore-01234567", Type: "Explore", Parent: "lead", Call: "call_3"}
)

// story is a run in which everything happens that can.
func story() []event.Event {
	grep := call("call_1", "Grep", `{"pattern":"TODO","path":"/repo/src"}`)
	spawn := call("call_2", "Agent", `{"name":"security","subagent_type":"reviewer","description":"look"}`)
	read := call("call_4", "Read", `{"file_path":"/repo/src/main.go"}`)
	send := call("call_5", "SendMessage", `{"to":"team-lead","message":"two of them"}`)
	rm := call("call_6", "Bash", `{"command":"rm -rf x\necho done"}`)
	mail := mailbox.Envelope{
		ID: "m1", From: mailbox.Address{Agent: "asecurity-1"}, To: mailbox.Address{Agent: "lead"}, Kind: mailbox.KindText,
		FromName: "security", ToName: "team-lead", Summary: "two open ends", Body: "two of them",
	}
	lost := mailbox.Envelope{
		ID: "m2", From: mailbox.Address{Agent: "lead"}, To: mailbox.Address{Agent: "explore-01234567"}, Kind: mailbox.KindText,
		FromName: "team-lead", ToName: "explore-01234567", Body: "are you there?",
	}
	usage := model.Usage{InputTokens: 4000, OutputTokens: 100}
	return timed(
		of(lead, event.Requested{Step: 0}),
		of(lead, answered("I will look.", usage, grep, spawn)),
		of(lead, event.CallStarted{Call: grep}),
		of(lead, event.CallStarted{Call: spawn}),
		of(security, event.Started{Model: "m", Prompt: "look at src\nand tell me", Background: true}),
		of(lead, event.CallFinished{Call: spawn, Text: "at work", Detail: json.RawMessage(`{"status":"teammate_spawned"}`)}),
		of(lead, event.CallFinished{Call: grep, Text: "src/a\nsrc/b", Took: 20 * time.Millisecond}),
		of(nameless, event.Started{Model: "m", Prompt: "explore"}),
		of(nameless, event.StateChanged{From: "starting", To: "queued"}),
		of(security, event.BackingOff{Backoff: model.Backoff{Attempt: 2, MaxAttempts: 10, Delay: 12 * time.Second, Status: 529, Reason: "the API is overloaded"}}),
		of(security, answered("", usage, read, send, rm)),
		of(security, event.CallFinished{Call: read, Text: "1\tpackage main\x1b[31m", Took: 1500 * time.Millisecond}),
		of(security, event.Progress{LastTool: read.Name}),
		of(security, event.MailSent{Envelope: mail}),
		of(security, event.CallFinished{Call: send, Text: "queued for team-lead"}),
		of(security, event.Progress{LastTool: send.Name}),
		of(lead, event.MailArrived{Envelope: mail}),
		of(security, event.MailSettled{IDs: []mailbox.ID{"m1"}, State: mailbox.StateDelivered}),
		of(security, event.MailSettled{IDs: []mailbox.ID{"m1"}, State: mailbox.StateRead}),
		of(security, event.Denied{Call: rm, Rule: "Bash(rm:*)", Reason: "a rule denies it"}),
		of(security, event.CallFinished{Call: rm, Text: "permission denied: a rule denies it", IsError: true}),
		of(security, event.Progress{LastTool: rm.Name}),
		of(security, answered("done with it", usage)),
		of(security, event.TurnEnded{Outcome: "completed", Text: "done with it", Steps: 2, Usage: usage, Took: 3 * time.Second}),
		of(lead, event.MailSent{Envelope: lost}),
		of(lead, event.MailSettled{IDs: []mailbox.ID{"m2"}, State: mailbox.StateDead}),
		of(nameless, event.TurnEnded{Outcome: "failed", Reason: "the model refused to answer", Steps: 1, Took: time.Second}),
		of(lead, event.Warning{Text: "the bus was away for a while"}),
		of(lead, event.Hint{Text: "teammates work in tmux panes"}),
		of(lead, event.Requested{Step: 1}),
		of(lead, event.Delta{Text: "All"}),
		of(lead, answered("All is well.", usage)),
		of(lead, event.TurnEnded{Outcome: "completed", Text: "All is well.", Steps: 2, Usage: usage, Took: 5 * time.Second}),
	)
}

func call(id, name, input string) model.Call {
	return model.Call{ID: id, Name: name, Input: json.RawMessage(input)}
}

func answered(text string, u model.Usage, calls ...model.Call) event.Answered {
	blocks, stop := []model.Block{model.Text(text)}, model.StopEndTurn
	for _, c := range calls {
		blocks, stop = append(blocks, model.ToolUse(c.ID, c.Name, c.Input)), model.StopToolUse
	}
	return event.Answered{Answer: &model.Answer{
		ID: "msg_1", Model: "claude-x", Message: model.AssistantMessage(blocks...), StopReason: stop, Usage: u,
	}}
}

func of(a event.Agent, f event.Fact) event.Event { return event.Event{Agent: a, Fact: f} }

// timed numbers the events, a tenth of a second apart.
func timed(all ...event.Event) []event.Event {
	for i := range all {
		all[i].Seq = uint64(i + 1)
		all[i].Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * 100 * time.Millisecond)
	}
	return all
}

func shown(verbose, color bool, events []event.Event) string {
	var b strings.Builder
	p := newProgress(cli.Screen{Out: &b, Color: color}, "/repo", verbose)
	for _, e := range events {
		p.See(e)
	}
	return b.String()
}

func TestProgressIsOneQuietLinePerStep(t *testing.T) {
	got := shown(false, false, story())
	golden(t, "quiet.txt", got)
	for line := range strings.SplitSeq(got, "\n") {
		if term.Width(line) > cli.PlainWidth {
			t.Errorf("%d columns: %s", term.Width(line), line)
		}
	}
}

func TestWhatGoesWrongIsShownWhole(t *testing.T) {
	reason := strings.Repeat("this is a reason of some length; ", 6) + "change the mode"
	got := shown(false, false, timed(
		of(security, event.Denied{Call: call("c", "Bash", `{"command":"`+strings.Repeat("rm -rf ", 50)+`"}`), Reason: reason}),
		of(security, event.BackingOff{Backoff: model.Backoff{Attempt: 2, MaxAttempts: 10, Delay: time.Second, Reason: "model: " + reason}}),
		of(security, event.Warning{Text: reason}),
		of(security, event.TurnEnded{Outcome: "failed", Reason: "model: " + reason, Steps: 1}),
	))
	if n := strings.Count(strings.Join(strings.Fields(got), " "), reason); n != 4 {
		t.Errorf("%d of 4 reasons are whole", n)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if term.Width(line) > cli.PlainWidth {
			t.Errorf("%d columns: %s", term.Width(line), line)
		}
	}
	if strings.Contains(got, "model: ") {
		t.Error("the package that an error comes from is shown")
	}
}

func TestVerboseKeepsTheColumnsOfAText(t *testing.T) {
	read := call("c", "Read", `{"file_path":"/repo/a"}`)
	got := shown(true, false, timed(of(lead, event.CallFinished{Call: read, Text: "\n     1\tone\n     2\ttwo\n"})))
	if want := "         1    one\n         2    two\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got:\n%s", got)
	}
}

func TestTreeKeepsToTheWidthUnderASession(t *testing.T) {
	a := &app{Console: cli.Console{Out: &strings.Builder{}, Getenv: func(string) string { return "" }}}
	row := psAgent{ID: "x", Name: "general-purpose-0123456789abcdef", Type: "general-purpose", State: "stopped", Detail: "stopped"}
	table := a.sessionTable([]psSession{{ID: "0123456789", Running: true, Agents: []psAgent{row}}})
	for line := range strings.SplitSeq(table, "\n") {
		if term.Width(line) > cli.PlainWidth {
			t.Errorf("%d columns: %s", term.Width(line), line)
		}
	}
	if strings.Contains(table, "stopped stopped") {
		t.Errorf("the state is said twice:\n%s", table)
	}
}

func TestTreeTellsOfOldProgress(t *testing.T) {
	w := treeWriter{now: time.Unix(1000, 0)}
	for want, p := range map[string]psAgent{
		"thinking 2.0s · 0 steps":                               {State: "thinking", Since: w.now.Add(-2 * time.Second), Progress: w.now},
		"thinking 3m00s · 0 steps · 0 tokens · no progress":     {State: "thinking", Since: w.now.Add(-3 * time.Minute), Progress: w.now.Add(-3 * time.Minute)},
		"waiting for child 3m00s · 0 steps · 0 tokens · quiet":  {State: "waiting", Detail: "child", Since: w.now.Add(-3 * time.Minute), Progress: w.now.Add(-time.Second), Type: "quiet"},
		"waiting for permission 3m00s · 0 steps · 0 tokens · x": {State: "waiting", Detail: "permission", Since: w.now.Add(-3 * time.Minute), Type: "x"},
		"stopped by ann 3m":                                     {State: "stopped", Detail: "by ann", Since: w.now.Add(-3 * time.Minute)},
	} {
		p.Running = true
		if got := w.about(p); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestVerboseShowsInputsResultsAndTexts(t *testing.T) {
	golden(t, "verbose.txt", shown(true, false, story()))
}

func TestColoursAreThoseOfTheDefinitionOrStable(t *testing.T) {
	once, again := shown(false, true, story()), shown(false, true, story())
	if once != again {
		t.Error("two runs differ in their colours")
	}
	if !strings.Contains(once, "\x1b[31msecurity\x1b[0m  started") {
		t.Errorf("security is not red:\n%q", once)
	}
	golden(t, "color.txt", strings.ReplaceAll(once, "\x1b", "␛"))
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
		if got := describeCall(call("c", c.name, c.input), "/repo"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.input, got, c.want)
		}
	}
}

func TestSpansAndTokensAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 400 * time.Millisecond: "0.4s", 12 * time.Second: "12s", 200 * time.Second: "3m20s",
		5 * time.Hour: "5h00m", 72 * time.Hour: "3d",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 4100: "4.1k", 999_949: "999.9k", 999_950: "1.0M", 2_340_000: "2.3M"} {
		if got := tokens(model.Usage{InputTokens: n}); got != want {
			t.Errorf("tokens(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestRulesAreSplitOutsideParentheses(t *testing.T) {
	got := cli.SplitRules([]string{"Read, Bash(git log:*, --oneline) Edit", "Bash(a b)", ""})
	want := []string{"Read", "Bash(git log:*, --oneline)", "Edit", "Bash(a b)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFactComesBackFromTheWire(t *testing.T) {
	for _, e := range story() {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		back, ok, err := decodeEvent(raw)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", raw, ok, err)
		}
		if diff := cmp.Diff(shown(true, true, []event.Event{e}), shown(true, true, []event.Event{back})); diff != "" {
			t.Errorf("%T is shown differently (-sent +received):\n%s", e.Fact, diff)
		}
	}
	if _, ok, err := decodeEvent([]byte(`{"type":"of_tomorrow","fact":{}}`)); ok || err != nil {
		t.Errorf("an unknown fact: %v, %v", ok, err)
	}
	if _, _, err := decodeEvent([]byte(`{`)); err == nil {
		t.Error("half an event was read")
	}
}
