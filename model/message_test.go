package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessageIsEncodedOnceWithoutEscapingHTML(t *testing.T) {
	m := UserMessage(Text("a <b> & \"c\"\n\x01é\u2028"), ToolResult("t1", "no", true))
	want := `{"role":"user","content":[{"type":"text","text":"a <b> & \"c\"\n\u0001é` + "\u2028" + `"},` +
		`{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}`
	if diff := cmp.Diff(want, string(m.Raw())); diff != "" {
		t.Error(diff)
	}
}

func TestEveryBlockSurvivesEncodingAndDecoding(t *testing.T) {
	blocks := []Block{
		{Type: TypeThinking, Thinking: "hm", Signature: "sig=="},
		{Type: TypeRedactedThinking, Data: "opaque"},
		Text("hello"),
		ToolUse("id1", "Bash", json.RawMessage(`{"z":1,"a":"<"}`)),
		ToolResult("id1", "out", false),
		Image("image/png", "AAAA"),
		{Type: "server_tool_use", Raw: json.RawMessage(`{"type":"server_tool_use","id":5,"x":[1]}`)},
	}
	m := AssistantMessage(blocks...)
	if diff := cmp.Diff(blocks, m.Blocks()); diff != "" {
		t.Error(diff)
	}
	if again := AssistantMessage(m.Blocks()...); !bytes.Equal(again.Raw(), m.Raw()) {
		t.Errorf("encoding the decoded blocks gave\n%s, want\n%s", again.Raw(), m.Raw())
	}
}

func TestBlocksTheFieldsCannotHoldKeepTheirBytes(t *testing.T) {
	for _, raw := range []string{
		`{"type":"text","text":"x","citations":[{"a":1}]}`,
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image","source":{}}]}`,
		`{"type":"web_search_tool_result","content":{"type":"error"}}`,
		`{ "type" : "new" , "text" : 7 }`,
	} {
		m, err := MessageFromRaw([]byte(`{"role":"assistant","content":[` + raw + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		again := AssistantMessage(m.Blocks()...)
		if !bytes.Contains(again.Raw(), []byte(raw)) {
			t.Errorf("%s became %s", raw, again.Raw())
		}
	}
}

func TestMessageWithZeroLengthContentIsNeverProduced(t *testing.T) {
	for _, m := range []Message{UserMessage(), UserMessage(Text("")), AssistantMessage(Text(" \n"), Block{Type: "?"})} {
		if got := m.Text(); got != emptyContent {
			t.Errorf("an empty message holds %q, want %q", got, emptyContent)
		}
	}
	for _, raw := range []string{
		`{"role":"user","content":[]}`, `{"role":"user","content":""}`, `{"role":"user"}`,
		`{"role":"system","content":"x"}`, `{"role":"user","content":[1]}`, `{"role":"user","content":{}}`,
		`[]`, `null`, ``, `{`, `{"role":1,"content":"x"}`, `{"role":"user","content":"x"} {}`,
	} {
		if m, err := MessageFromRaw([]byte(raw)); err == nil {
			t.Errorf("%s was taken as %s", raw, m.Raw())
		}
	}
}

func TestMessageFromRawKeepsTheBytesExactly(t *testing.T) {
	raw := []byte(`{ "content" : [ {"text":"a\u003cb", "type":"text"} ] , "role":"assistant","extra":1}`)
	m, err := MessageFromRaw(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Raw(), raw) || m.Role() != RoleAssistant || m.Text() != "a<b" {
		t.Errorf("got %s, role %s, text %q", m.Raw(), m.Role(), m.Text())
	}
	raw[3] = 'X'
	if bytes.Equal(m.Raw(), raw) {
		t.Error("the message shares its caller's bytes")
	}
}

func TestMessageJSONKeepsTheBytes(t *testing.T) {
	type line struct{ M, Zero Message }
	in := line{M: UserMessage(Text("<&>"))}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		t.Fatal(err)
	}
	var out line
	if err := json.Unmarshal(buf.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.M.Raw(), in.M.Raw()) || !out.Zero.IsZero() {
		t.Errorf("got %s and %s", out.M.Raw(), out.Zero.Raw())
	}
	if err := json.Unmarshal([]byte(`{"M":{"role":"user"}}`), &out); err == nil {
		t.Error("a message without content was read")
	}
}

func TestABrokenToolInputBecomesAnEmptyObject(t *testing.T) {
	for _, in := range []string{"", "null", `{"a":`, `[1]`, `"x"`} {
		b := AssistantMessage(ToolUse("i", "n", json.RawMessage(in))).Blocks()
		if string(b[0].Input) != "{}" {
			t.Errorf("input %q became %s", in, b[0].Input)
		}
	}
}

func TestLoneSurrogatesNeverReachAnAPI(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"\ud83d"}`:              `{"a":"\ufffd"}`,
		`{"a":"\uDE00\ud83d\ude00x"}`: `{"a":"\ufffd\ud83d\ude00x"}`,
		`{"a":"\ud83d\u0041"}`:        `{"a":"\ufffd\u0041"}`,
		`{"a":"\\ud83d \u00e9"}`:      `{"a":"\\ud83d \u00e9"}`,
		`{"a":"\ud83d\ude00"}`:        `{"a":"\ud83d\ude00"}`,
	} {
		got := AssistantMessage(ToolUse("i", "n", json.RawMessage(in))).Blocks()[0].Input
		if string(got) != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func FuzzPairSurrogates(f *testing.F) {
	f.Add(`{"a":"\ud83d\ude00 \\ud800 \udc00"}`)
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		var before, after any
		if err := json.Unmarshal([]byte(s), &before); err != nil {
			return // a number out of range
		}
		if err := json.Unmarshal(pairSurrogates([]byte(s)), &after); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff) // Go reads a lone surrogate as U+FFFD as well
		}
	})
}

func TestRawBlockThatIsNotAnObjectPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a broken raw block was encoded")
		}
	}()
	UserMessage(Block{Type: "x", Raw: json.RawMessage(`{`)})
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "<&>\"\\\n\r\t\x00\x7f", "é\u2028", "\xff\xfe", "a\xc3", strings.Repeat("x", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); len([]rune(s)) == len([]rune(want)) && got != want {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func FuzzMessageFromRaw(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"a"}]}`,
		`{"content":[{"type":"thinking","thinking":"a","signature":"s"}],"role":"assistant"}`,
		`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := MessageFromRaw(raw)
		if err != nil {
			return
		}
		if !bytes.Equal(m.Raw(), raw) {
			t.Fatalf("%q became %q", raw, m.Raw())
		}
		m.Blocks()
		r := Request{Model: "m", Messages: []Message{m}}
		if body := r.AppendBody(nil); !json.Valid(body) {
			t.Fatalf("the body of %q is not JSON: %q", raw, body)
		}
	})
}
