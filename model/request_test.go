package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBodyIsTheConcatenationOfKeptBytes(t *testing.T) {
	r := Request{
		Model: "claude", MaxTokens: 2000, Effort: "high", ThinkingBudget: 5000,
		System:   []json.RawMessage{EncodeSystem("one"), EncodeSystem("two")},
		Tools:    []json.RawMessage{EncodeTool("Read", "reads", json.RawMessage(`{"type":"object","$schema":"x"}`)), EncodeTool("Nop", "", nil)},
		Messages: []Message{UserMessage(Text("hi")), {}, AssistantMessage(Text("yes"))},
		Caller:   Caller{Agent: "secret-name"},
	}
	want := `{"model":"claude","max_tokens":2000,"stream":true,"thinking":{"type":"enabled","budget_tokens":1999},"output_config":{"effort":"high"},` +
		`"tools":[{"name":"Read","description":"reads","input_schema":{"type":"object","$schema":"x"}},` +
		`{"name":"Nop","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"one"},{"type":"text","text":"two","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"yes","cache_control":{"type":"ephemeral"}}]}]}`
	if diff := cmp.Diff(want, string(r.AppendBody(nil))); diff != "" {
		t.Error(diff)
	}
	if got := string(r.AppendBody([]byte("x"))); got != "x"+want {
		t.Errorf("appending to bytes gave %s", got)
	}
}

func TestALongerConversationBeginsWithTheShorterOne(t *testing.T) {
	r := conversation(20, 200)
	for n := 2; n < len(r.Messages); n++ {
		short, long := r, r
		short.Messages, long.Messages = r.Messages[:n], r.Messages[:n+1]
		a, b := short.AppendBody(nil), long.AppendBody(nil)
		last := r.Messages[n-1]
		shared := bytes.LastIndex(a, last.Raw()[:last.mark])
		if shared < 0 || !bytes.HasPrefix(b, a[:shared+last.mark]) {
			t.Fatalf("with %d messages the bodies differ before the last message", n)
		}
		if marks := bytes.Count(b, []byte(cacheMark)); marks != 3 {
			t.Fatalf("with %d messages there are %d cache marks, want 3", n+1, marks)
		}
	}
}

func TestForkBodiesShareEveryByteUpToTheDirective(t *testing.T) {
	parent := conversation(10, 500)
	a, b := parent, parent
	a.Messages = append(parent.Messages[:10:10], UserMessage(Text("look left")))
	b.Messages = append(parent.Messages[:10:10], UserMessage(Text("look right")))
	x, y := a.AppendBody(nil), b.AppendBody(nil)
	if end := bytes.Index(x, []byte("left")); !bytes.HasPrefix(y, x[:end]) {
		t.Error("two forks differ before their directives")
	}
}

func TestCacheMarksAvoidBlocksThatCannotCarryThem(t *testing.T) {
	for raw, want := range map[string]int{
		`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"t","signature":"s"}]}`: 1,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"}]}`:                            0,
		`{"role":"user","content":"bare"}`: 1,
		`{"role":"user","content":[{"type":"text","text":"marked","cache_control":{"type":"ephemeral"}}]}`:            1,
		`{"role":"user","content":[{"type":"text","text":"}]\"cache_control\""} ] }`:                                  1,
		`{"content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]}],"role":"user"}`: 1,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`:                            1,
	} {
		m, err := MessageFromRaw([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Model: "m", Messages: []Message{m}}
		body := r.AppendBody(nil)
		if !json.Valid(body) {
			t.Errorf("%s makes a body that is not JSON: %s", raw, body)
		}
		if got := bytes.Count(body, []byte(`"cache_control":{`)); got != want {
			t.Errorf("%s has %d marks, want %d: %s", raw, got, want, body)
		}
	}
}

func TestCallsComeOnlyFromUncutAnswers(t *testing.T) {
	a := Answer{StopReason: StopToolUse, Message: AssistantMessage(Text("a"), ToolUse("1", "X", json.RawMessage(`{"k":1}`)), Text("b"))}
	if diff := cmp.Diff([]Call{{ID: "1", Name: "X", Input: json.RawMessage(`{"k":1}`)}}, a.Calls()); diff != "" {
		t.Error(diff)
	}
	if a.Text() != "a\nb" {
		t.Errorf("text %q", a.Text())
	}
	a.StopReason = StopMaxTokens
	if got := a.Calls(); got != nil {
		t.Errorf("a cut answer has calls %v", got)
	}
}

// conversation makes a request of n messages of about size bytes each.
func conversation(n, size int) Request {
	r := Request{
		Model: "claude", System: []json.RawMessage{EncodeSystem("be brief")},
		Tools: []json.RawMessage{EncodeTool("Read", "reads a file", json.RawMessage(`{"type":"object"}`))},
	}
	for i := range n {
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", size))
		if i%2 == 0 {
			r.Messages = append(r.Messages, UserMessage(Text(text)))
		} else {
			r.Messages = append(r.Messages, AssistantMessage(Text(text)))
		}
	}
	return r
}

// BenchmarkAppendBody reports the time to build the body of 400 messages, 1 MB,
// as a multiple of copying as many bytes (x-memcpy).
func BenchmarkAppendBody(b *testing.B) {
	r := conversation(400, 2600)
	body := r.AppendBody(nil)
	dst, plain := make([]byte, 0, 2*len(body)), make([]byte, len(body))
	b.SetBytes(int64(len(body)))
	var build, copying time.Duration
	for b.Loop() {
		start := time.Now()
		dst = r.AppendBody(dst[:0])
		mid := time.Now()
		copy(plain, body)
		build, copying = build+mid.Sub(start), copying+time.Since(mid)
	}
	b.ReportMetric(float64(build)/float64(copying), "x-memcpy")
}
