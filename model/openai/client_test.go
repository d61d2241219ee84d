package openai

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/internal/transport"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/google/go-cmp/cmp"
)

func connect(tb testing.TB, url string) *Client {
	c, err := New(Options{APIKey: modeltest.Key, BaseURL: url + "/v1/", IdleTimeout: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestClientKeepsTheLawsOfModel(t *testing.T) {
	modeltest.Run(t, modeltest.OpenAI, func(s *httptest.Server) model.Model { return connect(t, s.URL) })
}

func TestIdleConnectionEnds(t *testing.T) {
	for name, reply := range map[string]modeltest.Reply{
		"silent after headers": {Stall: true},
		"silent in the answer": {Blocks: []model.Block{model.Text("some text")}, After: 2, Stall: true},
		"no headers":           {Delay: time.Hour},
	} {
		srv := modeltest.NewServer(t, modeltest.OpenAI, modeltest.Replies(reply))
		m, err := New(Options{APIKey: modeltest.Key, BaseURL: srv.URL + "/v1/", IdleTimeout: 80 * time.Millisecond, PingTimeout: 80 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.Complete(t.Context(), m, modeltest.Request("x"))
		if e := (*model.Error)(nil); !errors.As(err, &e) || e.Kind != model.Network || !errors.Is(err, transport.ErrSilent) {
			t.Errorf("%s: got %v, want a network error about silence", name, err)
		}
	}
}

func readAll(src string) (*model.Answer, error) {
	w := transport.Watch(func(error) {}, 0, 0)
	defer w.Stop()
	return read(strings.NewReader(src), 3, w, func(model.Event, error) bool { return true })
}

func chunks(c ...string) string { return "data: " + strings.Join(c, "\n\ndata: ") + "\n\n" }

func TestConversationsAreTranslated(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.OpenAI, modeltest.Replies(modeltest.Say("ok")))
	m := connect(t, srv.URL)
	withPicture, err := model.BlockFromRaw(json.RawMessage(
		`{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"seen"},{"type":"image","source":{"type":"url","url":"http://p"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := &model.Request{
		Model: "m", MaxTokens: 5, Effort: "low",
		System: []json.RawMessage{model.EncodeSystem("one"), model.EncodeSystem("<two>")},
		Tools:  []json.RawMessage{model.EncodeTool("T", "does", json.RawMessage(`{"type":"object","z":1,"a":2}`)), json.RawMessage(`{"type":"web_search_20250305","name":"web_search"}`)},
		Messages: []model.Message{
			model.UserMessage(model.Text("hi")),
			model.AssistantMessage(model.Block{Type: model.TypeThinking, Thinking: "hm", Signature: "s"}, model.Text("I look"),
				model.ToolUse("a", "T", json.RawMessage(`{"k":"<v>"}`)), model.ToolUse("b", "T", nil)),
			model.UserMessage(model.Text("and"), model.ToolResult("a", "", true), withPicture, model.Image("image/png", "AA")),
			model.AssistantMessage(model.Block{Type: model.TypeThinking, Thinking: "hm", Signature: "s"}),
		},
	}
	if _, err := model.Complete(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()[0]
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"reasoning_effort":"low",` +
		`"tools":[{"type":"function","function":{"name":"T","description":"does","parameters":{"type":"object","z":1,"a":2}}}],` +
		`"messages":[{"role":"system","content":"one\n\n<two>"},{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"I look","tool_calls":[{"id":"a","type":"function","function":{"name":"T","arguments":"{\"k\":\"<v>\"}"}},` +
		`{"id":"b","type":"function","function":{"name":"T","arguments":"{}"}}]},` +
		`{"role":"tool","content":"ERROR: (no content)","tool_call_id":"a"},{"role":"tool","content":"seen","tool_call_id":"b"},` +
		`{"role":"user","content":[{"type":"text","text":"and"},{"type":"image_url","image_url":{"url":"http://p"}},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]},{"role":"assistant","content":"(no content)"}]}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Error(diff)
	}
	if got.Path != "/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer "+modeltest.Key {
		t.Errorf("path %s, headers %v", got.Path, got.Header)
	}
}

func TestALongerConversationBeginsAsTheShorterDid(t *testing.T) {
	c := connect(t, "http://localhost")
	r := modeltest.Request("one")
	short, err := c.body(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, model.AssistantMessage(model.Text("two")))
	long, err := c.body(r)
	if err != nil {
		t.Fatal(err)
	}
	if prefix := strings.TrimSuffix(string(short), "]}"); !strings.HasPrefix(string(long), prefix) {
		t.Errorf("%s\ndoes not begin with\n%s", long, prefix)
	}
}

func TestQuirksOfEndpointsAreUnderstood(t *testing.T) {
	const stop = `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		src, text, calls string
	}{
		"no DONE":            {chunks(`{"choices":[{"delta":{"content":"a"}}]}`, stop), "a", ""},
		"null content":       {chunks(`{"choices":[{"delta":{"content":null,"tool_calls":null}}],"usage":null}`, `{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`, stop), "a", ""},
		"comments":           {": OPENROUTER PROCESSING\n\n" + chunks(`{"choices":[{"delta":{"content":"a"}}]}`, stop) + ": bye\n\ndata: [DONE]\n\n", "a", ""},
		"reasoning":          {chunks(`{"choices":[{"delta":{"reasoning":"r"}}]}`, `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`), "a", ""},
		"DONE without end":   {chunks(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`) + "data: [DONE]", "a", ""},
		"one index for all":  {chunks(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"A","arguments":"{}"}},{"index":0,"id":"y","function":{"name":"B","arguments":"{\"k\":1}"}}]}}]}`, stop), "", `x A {} y B {"k":1} `},
		"arguments object":   {chunks(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"A","arguments":{"k": 1}}}]}}]}`, stop), "", `call_3_0 A {"k": 1} `},
		"interleaved":        {chunks(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"A","arguments":"{\"k\""}},{"index":1,"id":"y","function":{"name":"B"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`), "", `x A {"k":1} y B {} `},
		"id repeated":        {chunks(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"A","arguments":"{"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"A","arguments":"}"}}]},"finish_reason":"tool_calls"}]}`), "", `x A {} `},
		"other choices":      {chunks(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"a"}}]}`, stop), "a", ""},
		"error after finish": {chunks(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[],"error":null}`), "a", ""},
	} {
		a, err := readAll(c.src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		calls := ""
		for _, call := range a.Calls() {
			calls += call.ID + " " + call.Name + " " + string(call.Input) + " "
		}
		if a.Text() != c.text || calls != c.calls || (calls != "") != (a.StopReason == model.StopToolUse) {
			t.Errorf("%s: text %q, calls %q, stop reason %s", name, a.Text(), calls, a.StopReason)
		}
	}
}

func TestWhatIsNoWholeAnswerIsAnError(t *testing.T) {
	for src, want := range map[string]model.ErrorKind{
		chunks("[DONE]"): model.Truncated,
		chunks(`{"choices":[{"delta":{"content":"a"}}]}`, "[DONE]"): model.Truncated,
		chunks(`{"choices":[{"delta":`):                             model.Truncated,
		chunks(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"b"}}]}`): model.Truncated,
		chunks(`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`):     model.Truncated,
		chunks(`{"choices":[{"delta":{"refusal":"I will not"},"finish_reason":"stop"}]}`):                                   model.Refused,
		chunks(`{"error":{"message":"m","code":429}}`):                                                                      model.RateLimited,
		chunks(`{"error":{"message":"m","type":"x","code":"context_length_exceeded"}}`):                                     model.TooLong,
		chunks(`{"error":"text"}`): model.Server,
		chunks(`{"choices":[{"delta":{"content":"a"},"finish_reason":"error"}]}`): model.Server,
	} {
		_, err := readAll(src)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
}

func TestAnEndpointThatDoesNotStreamIsTold(t *testing.T) {
	json200 := func(body string) modeltest.Reply {
		return modeltest.Reply{Header: map[string][]string{"Content-Type": {"application/json"}}, Raw: []byte(body)}
	}
	for body, want := range map[string]model.ErrorKind{
		`{"choices":[{"message":{"content":"hi"}}]}`:                    model.Invalid,
		`{"error":{"message":"m","code":"insufficient_quota"}}`:         model.Spend,
		`{"object":"error","message":"maximum context length is 4096"}`: model.TooLong,
	} {
		srv := modeltest.NewServer(t, modeltest.OpenAI, modeltest.Replies(json200(body)))
		_, err := model.Complete(t.Context(), connect(t, srv.URL), modeltest.Request("x"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	for _, o := range []Options{{}, {BaseURL: "localhost:11434"}, {BaseURL: "ftp://u:hidden@h"}} {
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), "OPENAI_") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	o, ok := FromEnv(func(k string) string { return map[string]string{"OPENAI_API_KEY": " k "}[k] })
	if c, err := New(o); !ok || err != nil || c.url != DefaultBaseURL+"/chat/completions" || c.opts.APIKey != "k" {
		t.Errorf("options %+v, %v, %v", o, ok, err)
	}
}

// FuzzStream: whatever comes, there is no panic, and an answer only from a
// stream that holds a finish reason.
func FuzzStream(f *testing.F) {
	f.Add(chunks(`{"id":"i","choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":3}}`, "[DONE]"))
	f.Add(chunks(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"A","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`))
	f.Add(": c\r\r" + chunks(`{"error":{"message":"m","type":"t","code":500}}`))
	f.Fuzz(func(t *testing.T, src string) {
		a, err := readAll(src)
		if (a == nil) == (err == nil) {
			t.Fatalf("answer %v and error %v", a, err)
		}
		if err != nil {
			return
		}
		if lower := strings.ToLower(src); !strings.Contains(lower, "finish_reason") && !strings.Contains(lower, `\u`) && !strings.ContainsAny(src, "\u017f\u212a") {
			t.Fatalf("an answer without a finish reason: %s", a.Message.Raw())
		}
		for _, call := range a.Calls() {
			if call.ID == "" || call.Name == "" || call.Input[0] != '{' {
				t.Fatalf("a broken call: %+v", call)
			}
		}
	})
}
