package script

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, src string) *Script {
	t.Helper()
	s, err := Load([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// talk is a conversation of one agent with a script.
type talk struct {
	t *testing.T
	s *Script
	r model.Request
}

func begin(t *testing.T, s *Script, agent, prompt string) *talk {
	return &talk{t: t, s: s, r: model.Request{
		Messages: []model.Message{model.UserMessage(model.Text(prompt))},
		Caller:   model.Caller{Session: "s", AgentID: "id-" + agent, Agent: agent, Type: "worker-type"},
	}}
}

func (k *talk) ask() (*model.Answer, error) { return model.Complete(k.t.Context(), k.s, &k.r) }

// next asks, and answers each call with the results given.
func (k *talk) next(results ...string) *model.Answer {
	k.t.Helper()
	a, err := k.ask()
	if err != nil {
		k.t.Fatal(err)
	}
	k.r.Messages = append(k.r.Messages, a.Message)
	var blocks []model.Block
	for i, c := range a.Calls() {
		text := ""
		if i < len(results) {
			text = results[i]
		}
		blocks = append(blocks, model.ToolResult(c.ID, text, false))
	}
	if blocks != nil {
		k.r.Messages = append(k.r.Messages, model.UserMessage(blocks...))
	}
	return a
}

func (k *talk) hear(text string) {
	k.r.Messages = append(k.r.Messages, model.UserMessage(model.Text(text)))
}

func letterFrom(name, text string) string {
	return `<teammate-message teammate_id="` + name + `" message_id="m1" summary="s">` + "\n" + text + "\n</teammate-message>"
}

func TestAScriptedConversationUsesWhatToolsFound(t *testing.T) {
	k := begin(t, load(t, `
model: demo
rules:
  - when: {agent: "lead*", step: 0, text: 'review (\w+)'}
    say:
      thinking: "Where to look?"
      text: '{{.Agent}} looks at {{index (regex "review (\\w+)" .Prompt) 0}}.'
      calls:
        - {tool: Glob, as: files, input: {pattern: "**/*.go", limit: 3, deep: {on: true, list: ["{{.Step}}", 1.5, null]}}}
        - {tool: Grep, input: {pattern: "TODO <x>"}}
  - when: {agent: worker-type, after: Gl*}
    say:
      text: |-
        {{count (lines (result "files"))}} files, first {{head 1 (lines (lastResult "Glob")) | join ","}};
        {{range results "Grep"}}[{{trim .}}]{{end}} {{json (lines (result "files"))}} {{upper "ok"}}
`), "lead-1", "please review main")
	a := k.next("a.go\nb.go\n\nc.go\n", " main.go:3: TODO \n")
	if a.Text() != "lead-1 looks at main." || a.Model != "demo" || a.StopReason != model.StopToolUse {
		t.Errorf("got %q of %s, stop %s", a.Text(), a.Model, a.StopReason)
	}
	calls := a.Calls()
	want := `{"pattern":"**/*.go","limit":3,"deep":{"on":true,"list":["0",1.5,null]}}`
	if string(calls[0].Input) != want || string(calls[1].Input) != `{"pattern":"TODO <x>"}` || calls[0].ID == calls[1].ID {
		t.Errorf("calls %s %s", calls[0].Input, calls[1].Input)
	}
	b := k.next()
	if diff := cmp.Diff("3 files, first a.go;\n[main.go:3: TODO] [\"a.go\",\"b.go\",\"c.go\"] OK", b.Text()); diff != "" {
		t.Error(diff)
	}
}

func TestMailMatchesAndIsReadableWheneverItCame(t *testing.T) {
	s := load(t, `
rules:
  - when: {mail: '(?i)tester: .*failed'}
    say: {text: 'From tester: {{join "|" (mail "tester")}}; from all: {{count (mail "*")}}'}
  - when: {text: hello}
    say: {text: "hi, {{.Last}} after {{.Prompt}}"}
  - say: {text: 'waiting, {{count (mail "tester")}} so far'}
`)
	k := begin(t, s, "lead", "<system-reminder>be quick</system-reminder>\nstart")
	if got := k.next().Text(); got != "waiting, 0 so far" {
		t.Error(got)
	}
	k.hear(letterFrom("docs", "ok") + "\n" + letterFrom("tester", "2 failed\nin a"))
	if got := k.next().Text(); got != "From tester: 2 failed\nin a; from all: 2" {
		t.Error(got)
	}
	k.hear("<user-message>\nhello\n</user-message>")
	if got := k.next().Text(); got != "hi, hello after start" {
		t.Error(got)
	}
	k.hear("<task-notification>\n<task-id>a1</task-id>\n<result>\n  one\n  two\n</result>\n</task-notification>")
	if got := k.next().Text(); got != "waiting, 1 so far" {
		t.Error(got)
	}
	if got := newView(&k.r).mail("a1"); len(got) != 1 || got[0] != "one\ntwo" {
		t.Errorf("the report reads %q", got)
	}
}

func TestUnmatchedRequestNamesAgentStepAndRules(t *testing.T) {
	s := load(t, `rules:
  - {name: first, when: {agent: x}, say: {text: a}}
  - when: {step: [1, 4-], turn: 0-2}
    say: {text: b}
  - {when: {after: Bash}, say: {text: c}}
  - {when: {text: zzz}, say: {text: c}}
  - {when: {mail: zzz}, say: {text: c}}
  - {when: {turn: 7}, say: {text: c}}
  - when:
      if: '{{if mail "x"}}yes{{end}}'
    say: {text: c}
  - {when: {if: '{{count (mail "x")}}'}, say: {text: c}}
`)
	_, err := begin(t, s, "lead", "go").ask()
	var e *model.Error
	if !errors.As(err, &e) || e.Retryable() {
		t.Fatalf("got %v, want an error that is not retried", err)
	}
	for _, part := range []string{
		`agent "lead"`, `step 0 of turn 0`, `"first" (line 2): agent is not x`, `line 3: step is not 1 or 4-`,
		"line 5: no new result of Bash", "line 6: the newest content is not like /zzz/", "line 7: no new mail", "line 8: turn is not 7",
		"line 9: its if (line 10) gives nothing", "line 12: its if (line 12) gives 0",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

func TestIfFitsUnlessItGivesNothing(t *testing.T) {
	for src, fits := range map[string]bool{
		`{{if mail "tester"}}{{end}}`:        false,
		`{{if mail "tester"}} {{end}}`:       false,
		`{{if mail "nobody"}}heard{{end}}`:   false,
		`{{if mail "tester"}}heard{{end}}`:   true,
		`{{match "^x" .Prompt}}`:             false,
		`{{match "^g" .Prompt}}`:             true,
		`{{count (mail "nobody")}}`:          false,
		`{{count (mail "tester")}}`:          true,
		`{{mail "nobody"}}`:                  false,
		`{{mail "tester"}}`:                  true,
		`{{and (mail "tester") .Step}}`:      false,
		`{{.Step}}0`:                         true,
		`{{eq 1 (len (mail "*"))}}`:          true,
		`{{not (results "*")}} {{"and so"}}`: true,
	} {
		s := load(t, "rules:\n  - when: {if: '"+src+"'}\n    say: {text: fits}\n  - say: {text: not}\n")
		k := begin(t, s, "lead", "go")
		k.hear(letterFrom("tester", "2 failed"))
		if got := k.next().Text(); (got == "fits") != fits {
			t.Errorf("%s: the rule %s, want fits %v", src, got, fits)
		}
	}
}

func TestIfIsAskedAfterTheOtherConditions(t *testing.T) {
	s := load(t, `rules:
  - {when: {after: Glob, if: '{{match "go$" (result "files")}}'}, say: {text: "go files"}}
  - {when: {step: 0}, say: {calls: [{tool: Glob, as: files}]}}
  - {name: last, when: {if: '{{eq "b.py" (result "files")}}'}, say: {repeat: 1, text: "no go files"}}
`)
	k := begin(t, s, "lead", "go")
	k.next("a.go")
	if got := k.next().Text(); got != "go files" {
		t.Errorf("after the result: %q", got)
	}
	k = begin(t, s, "lead", "go")
	k.next("a.py")
	for range 2 { // a rule that is passed over is not used up
		_, err := k.ask()
		for _, part := range []string{"line 2: its if (line 2) gives false", `"last" (line 4): its if (line 4) gives false`} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the error lacks %q: %v", part, err)
			}
		}
	}
	k = begin(t, s, "lead", "go")
	k.next("b.py")
	if got := k.next().Text(); got != "no go files" {
		t.Errorf("after being passed over twice: %q", got)
	}
}

func TestAFailingIfEndsTheRequest(t *testing.T) {
	s := load(t, `rules:
  - {name: early, when: {if: '{{result "files"}}'}, say: {text: a}}
  - say: {text: b}
`)
	_, err := begin(t, s, "lead", "go").ask()
	var e *model.Error
	if !errors.As(err, &e) || e.Retryable() {
		t.Fatalf("got %v, want an error that is not retried", err)
	}
	if want := `rule "early" (line 2): line 2: the template failed`; !strings.Contains(err.Error(), want) {
		t.Errorf("the error lacks %q: %v", want, err)
	}
}

func TestRepeatCountsPerAgent(t *testing.T) {
	s := load(t, `rules:
  - say: {repeat: 2, error: {status: 529, type: overloaded_error, message: full, retry_after: 1.5}}
  - say: {text: ok}
`)
	a, b := begin(t, s, "a", "x"), begin(t, s, "b", "x")
	for range 2 {
		for _, k := range []*talk{a, b} {
			_, err := k.ask()
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.Overloaded || e.RetryAfter != 1500*time.Millisecond {
				t.Fatalf("got %v", err)
			}
		}
	}
	if a.next().Text() != "ok" || b.next().Text() != "ok" {
		t.Error("the rule answers more often than it may")
	}
}

func TestTheSameRequestGetsTheSameAnswer(t *testing.T) {
	const src = `rules: [{say: {text: "{{.Prompt}}", calls: [{tool: Bash, as: one, input: {command: ls}}]}}]`
	x, y := begin(t, load(t, src), "a", "p").next(), begin(t, load(t, src), "a", "p").next()
	if string(x.Message.Raw()) != string(y.Message.Raw()) {
		t.Errorf("%s and %s", x.Message.Raw(), y.Message.Raw())
	}
	k := begin(t, load(t, src), "a", "p")
	seen := map[string]bool{}
	for range 5 {
		id := k.next("same").Calls()[0].ID
		if seen[id] {
			t.Errorf("the id %s came twice", id)
		}
		seen[id] = true
	}
}

func TestDelayAndStallObeyTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := load(t, "rules:\n  - {when: {step: 0}, say: {text: hi, delay: 90}}\n  - {say: {stall: true}}\n")
		k := begin(t, s, "a", "x")
		begun := time.Now()
		k.next()
		if took := time.Since(begun); took != 90*time.Second {
			t.Errorf("the delay took %v", took)
		}
		why := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(why) })
		if _, err := model.Complete(ctx, s, &k.r); !errors.Is(err, why) {
			t.Errorf("the stall ended with %v", err)
		}
	})
}

func TestAnswersStreamInSeveralDeltas(t *testing.T) {
	s := load(t, `rules: [{say: {thinking: "thinking about this for a while", text: "a text — that is longer than one piece", calls: [{tool: T}]}}]`)
	var kinds []string
	text := ""
	for e, err := range s.Stream(t.Context(), &begin(t, s, "a", "x").r) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Kind.String())
		if e.Kind == model.TextDelta {
			text += e.Text
		}
	}
	got := strings.Join(kinds, ",")
	if !strings.Contains(got, "text delta,text delta") || !strings.HasSuffix(got, "call started,finished") || text != "a text — that is longer than one piece" {
		t.Errorf("events %s, text %q", got, text)
	}
}

func TestLoadErrorsNameTheLine(t *testing.T) {
	for src, want := range map[string]string{
		"":                                       "the file is empty",
		"rules: []":                              "there are no rules",
		"rules:\n  - say: {txt: a}":              "line 2: field txt does not belong in a say",
		"rules:\n  - when: {stepp: a}":           "line 2: field stepp does not belong in a when",
		"rule:\n  - say":                         "line 1: field rule does not belong in a file",
		"rules:\n  - {when: {step: 1}}":          "line 2: the rule has no say",
		"rules:\n  - say: {repeat: 1}":           "line 2: the rule says nothing",
		"rules:\n  - say: {repeat: -1, text: a}": "line 2: repeat is -1",
		"rules:\n  - say: {text: a}\n    when: {text: '('}":        "line 3: error parsing regexp",
		"rules:\n  - say: {text: a}\n    when: {step: 3-1}":        "line 3: the range 3-1 ends before it begins",
		"rules:\n  - say: {text: a}\n    when: {step: [x]}":        `line 3: "x" is not a number`,
		"rules:\n  - say: {text: a}\n    when: {agent: '['}":       "line 3: \"[\" is not a pattern",
		"rules:\n  - say: {text: [a]}":                             "line 2: a single value is wanted",
		"rules:\n  - say:\n      text: '{{.Prompt'":                "line 3: the template is not valid",
		"rules:\n  - say:\n      text: '{{nope}}'":                 `line 3: the template is not valid: function "nope" not defined`,
		"rules:\n  - say: {text: a}\n    when: {if: '{{mail'}":     "line 3: the template is not valid",
		"rules:\n  - say: {text: a}\n    when: {if: '{{nope}}'}":   `line 3: the template is not valid: function "nope" not defined`,
		"rules:\n  - say: {text: a}\n    when: {if: 'mail \"x\"'}": `line 3: the if "mail \"x\"" has no template in it`,
		"rules:\n  - say: {text: a}\n    when: {if: [a]}":          "line 3: a single value is wanted",
		"rules:\n  - say: {text: a, delay: soon}":                  `line 2: "soon" is not a duration`,
		"rules:\n  - say: {calls: [{input: {}}]}":                  "line 2: a call of the rule names no tool",
		"rules:\n  - say: {calls: [{tool: T, input: [1]}]}":        "line 2: the input of a call is a map",
		"rules:\n  - say: {calls: [{tool: T, as: a b}]}":           `line 2: the call name "a b"`,
		"rules:\n  - say: {calls: [{tool: T, input: {a: .nan}}]}":  "line 2: \".nan\" cannot be written as JSON",
		"rules:\n  - say: {calls: [{tool: T, input: &a {x: *a}}]}": "nested deeper",
		"rules:\n  - say: text":                                    "line 2: no text is expected here",
		"rules: [":                                                 "line 1",
	} {
		_, err := Load([]byte(src))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "script: ") {
			t.Errorf("%q: got %v, want %q", src, err, want)
		}
	}
}

func TestFailingTemplatesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		`{{result "none"}}`:         `line 3: the template failed: <result "none">: error calling result: there is no result of a call named "none" yet`,
		`{{index (lines .Last) 9}}`: "line 3: the template failed",
		`{{.Nope}}`:                 "line 3: the template failed",
		`{{count 3}}`:               "lines wants text, not int",
		`{{regex "(" .Last}}`:       "error parsing regexp",
	} {
		s := load(t, "rules:\n  - say:\n      text: '"+text+"'")
		if _, err := begin(t, s, "a", "x").ask(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestHelpersOfTemplates(t *testing.T) {
	v := newView(&begin(t, nil, "a", "one\ntwo\ntwo\nthree").r)
	for src, want := range map[string]string{
		`{{head 2 .Last}}`:                          "one\ntwo",
		`{{tail 1 .Last}}`:                          "three",
		`{{lines .Last | uniq | sort | join " "}}`:  "one three two",
		`{{regex "t(.)" .Last | join ""}}`:          "wwh",
		`{{grep "^t" .Last | join ","}}`:            "two,two,three",
		`{{split "w" "awb" | join "-"}}`:            "a-b",
		`{{replace "o" "0" "foo" | upper | lower}}`: "f00",
		`{{if contains "two" .Last}}y{{end}}`:       "y",
		`{{if match "^x" .Last}}y{{else}}n{{end}}`:  "n",
		`{{lastResult "Bash"}}{{count (mail "x")}}`: "0",
		`{{.Type}} {{.Turn}} {{json .Agent}}`:       `worker-type 0 "a"`,
	} {
		x, err := newText(src, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.run(v); err != nil || got != want {
			t.Errorf("%s gives %q, %v; want %q", src, got, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("rules:\n  - when: {step: 1-2, agent: a*}\n    say: {text: '{{.Last}}', calls: [{tool: T, as: x, input: {a: [1, b]}}]}")
	f.Add("rules: [{say: {error: {status: 529, retry_after: 2s}, repeat: 3}}]")
	f.Add("rules: [{when: {if: &a '{{mail `x`}}'}, say: {text: a}}, {when: {if: *a}, say: {text: b}}]")
	f.Add("rules: &a [*a]")
	f.Add("rules: [{say: {text: '{{range lines .Last}}{{.}}{{end}}', calls: [{tool: T, input: &x {y: *x}}]}}]")
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "{{") || strings.Contains(src, "delay") || strings.Contains(src, "stall") {
			src = strings.NewReplacer("{{", "{", "delay", "d", "stall", "s").Replace(src) // no endless templates or waits
		}
		s, err := Load([]byte(src))
		if err != nil {
			return
		}
		a, err := begin(t, s, "a", "x").ask()
		if err != nil {
			return
		}
		for _, c := range a.Calls() {
			if !json.Valid(c.Input) {
				t.Fatalf("the input %s is not JSON", c.Input)
			}
		}
	})
}
