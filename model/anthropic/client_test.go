package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/internal/transport"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/google/go-cmp/cmp"
)

func connect(tb testing.TB, url string, change ...func(*Options)) *Client {
	o := Options{APIKey: modeltest.Key, BaseURL: url}
	for _, c := range change {
		c(&o)
	}
	client, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func TestClientKeepsTheLawsOfModel(t *testing.T) {
	modeltest.Run(t, modeltest.Anthropic, func(s *httptest.Server) model.Model { return connect(t, s.URL) })
}

func TestBodyOnTheWireIsOursByteForByte(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(modeltest.Say("ok")))
	m := connect(t, srv.URL+"/proxy", func(o *Options) { o.Betas, o.AuthToken = []string{"b1", "b2"}, "tok" })
	r := modeltest.Request("<&> é")
	r.Tools = []json.RawMessage{model.EncodeTool("T", "d", json.RawMessage(`{"type":"object","$schema":"s","additionalProperties":false}`))}
	raw, err := model.MessageFromRaw([]byte(`{"content":[{"type":"new_thing","z":1,"a":"\u003c"}], "role":"assistant"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, raw, model.UserMessage(model.Text("more")))
	if _, err := model.Complete(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()[0]
	if diff := cmp.Diff(string(r.AppendBody(nil)), string(got.Body)); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{
		"X-Api-Key": modeltest.Key, "Authorization": "Bearer tok", "Anthropic-Beta": "b1,b2",
		"Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
	}
	for name, value := range want {
		if got.Header.Get(name) != value {
			t.Errorf("header %s is %q, want %q", name, got.Header.Get(name), value)
		}
	}
	if got.Path != "/proxy/v1/messages" {
		t.Errorf("path is %s", got.Path)
	}
}

func TestForkRequestsShareTheirPrefixOnTheWire(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(modeltest.Say("ok")))
	m := connect(t, srv.URL)
	base := modeltest.Request("history")
	for _, directive := range []string{"left", "right"} {
		fork := *base
		fork.Messages = append(base.Messages[:1:1], model.AssistantMessage(model.Text("yes")), model.UserMessage(model.Text(directive)))
		if _, err := model.Complete(t.Context(), m, &fork); err != nil {
			t.Fatal(err)
		}
	}
	a, b := srv.Requests()[0].Body, srv.Requests()[1].Body
	if end := bytes.Index(a, []byte("left")); end < 0 || !bytes.HasPrefix(b, a[:end]) {
		t.Errorf("the bodies differ before the directive:\n%s\n%s", a, b)
	}
}

func TestBlocksAreKeptExactly(t *testing.T) {
	blocks := []model.Block{
		{Type: model.TypeThinking, Thinking: "a <b> & c", Signature: "EqRk/+=="},
		{Type: model.TypeRedactedThinking, Data: "opaque=="},
		{Type: "server_tool_use", Raw: json.RawMessage(`{"type":"server_tool_use","zeta":1,"id":"s1","input":{"q":"\u003c"}}`)},
		{Type: model.TypeText, Text: "cited", Raw: json.RawMessage(`{"type":"text","text":"cited","citations":[{"u":1}]}`)},
		model.Text("done"),
	}
	srv := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(modeltest.Reply{Blocks: blocks}))
	a, err := model.Complete(t.Context(), connect(t, srv.URL), modeltest.Request("x"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(model.AssistantMessage(blocks...).Raw()), string(a.Message.Raw())); diff != "" {
		t.Error(diff)
	}
}

func TestIdleConnectionEnds(t *testing.T) {
	for name, reply := range map[string]modeltest.Reply{
		"silent after headers": {Stall: true},
		"silent in the answer": {Blocks: []model.Block{model.Text("some text")}, After: 3, Stall: true},
		"pings only":           {Blocks: []model.Block{model.Text("some text")}, After: 3, Pings: time.Millisecond},
		"no headers":           {Delay: time.Hour},
	} {
		srv := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(reply))
		m := connect(t, srv.URL, func(o *Options) { o.IdleTimeout, o.PingTimeout = 80*time.Millisecond, 160*time.Millisecond })
		_, err := model.Complete(t.Context(), m, modeltest.Request("x"))
		var e *model.Error
		if !asError(err, &e) || e.Kind != model.Network || !strings.Contains(err.Error(), "nothing came") {
			t.Errorf("%s: got %v, want a network error about silence", name, err)
		}
	}
}

func asError(err error, target **model.Error) bool {
	e, ok := err.(*model.Error)
	*target = e
	return ok
}

func TestShortNamesResolveToFullIDs(t *testing.T) {
	env := map[string]string{"ANTHROPIC_DEFAULT_OPUS_MODEL": "my-opus[1m]", "ANTHROPIC_API_KEY": " k\n"}
	o, ok := FromEnv(func(k string) string { return env[k] })
	if !ok || o.APIKey != "k" {
		t.Fatalf("options %+v, %v", o, ok)
	}
	for name, want := range map[string]string{
		"sonnet": "claude-sonnet-5-5", "Haiku": "claude-haiku-5-5", "opus": "my-opus[1m]", "opus[1m]": "my-opus[1m]",
		"sonnet[1m]": "claude-sonnet-5-5[1m]", "claude-x": "claude-x", "": "", "inherit": "inherit",
	} {
		if got := o.Resolve(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if Family("claude-opus-5-5[1m]") != "opus" || Family("SONNET") != "sonnet" || Family("gpt") != "" {
		t.Error("families are wrong")
	}
	if _, ok := FromEnv(func(string) string { return "" }); ok {
		t.Error("an empty environment is enough")
	}
}

func TestLongContextSuffixBecomesABeta(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(modeltest.Say("ok")))
	r := modeltest.Request("x")
	r.Model = "sonnet[1m]"
	if _, err := model.Complete(t.Context(), connect(t, srv.URL), r); err != nil {
		t.Fatal(err)
	}
	got := srv.Requests()[0]
	if got.Header.Get("Anthropic-Beta") != betaLongContext || !bytes.HasPrefix(got.Body, []byte(`{"model":"claude-sonnet-5-5",`)) {
		t.Errorf("beta %q, body %s", got.Header.Get("Anthropic-Beta"), got.Body)
	}
	if r.Model != "sonnet[1m]" {
		t.Error("the caller's request was changed")
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	for _, o := range []Options{{}, {APIKey: "k", BaseURL: "ftp://u:hidden@h"}, {APIKey: "k", BaseURL: "::"}} {
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), "ANTHROPIC_") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-env")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	srv := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(modeltest.Say("ok")))
	if _, err := model.Complete(context.WithoutCancel(t.Context()), connect(t, srv.URL), modeltest.Request("x")); err != nil {
		t.Fatal(err)
	}
	if got := srv.Requests()[0].Header.Get("X-Api-Key"); got != modeltest.Key {
		t.Errorf("the key sent is %q", got)
	}
}

// BenchmarkRequests reports complete streamed requests per second over loopback
// with 16 callers, the server's work included.
func BenchmarkRequests(b *testing.B) {
	srv := modeltest.NewInstant(b, modeltest.Anthropic, modeltest.Reply{Blocks: []model.Block{
		model.Text("I will look."), model.ToolUse("id", "Bash", json.RawMessage(`{"command":"ls"}`)),
	}})
	m := connect(b, srv.URL)
	r := modeltest.Request(strings.Repeat("x", 8<<10))
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := model.Complete(b.Context(), m, r); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkPlainHTTP posts the same body to the same server with net/http alone and reads
// the answer, to show the share of the SDK and of our reading in BenchmarkRequests.
func BenchmarkPlainHTTP(b *testing.B) {
	srv := modeltest.NewInstant(b, modeltest.Anthropic, modeltest.Reply{Blocks: []model.Block{
		model.Text("I will look."), model.ToolUse("id", "Bash", json.RawMessage(`{"command":"ls"}`)),
	}})
	client := transport.Client(nil)
	body := modeltest.Request(strings.Repeat("x", 8<<10)).AppendBody(nil)
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := client.Post(srv.URL, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				continue
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Error(err)
			}
			if err := res.Body.Close(); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}
