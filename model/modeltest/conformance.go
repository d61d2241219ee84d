package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/model"
)

// Key is the credential that the model under test is to be made with; no error
// may hold it.
const Key = "sk-test-0123456789-never-tell"

// Run checks that a provider keeps the laws of package model. connect makes the
// provider for a server that speaks wire.
func Run(t *testing.T, wire Wire, connect func(*httptest.Server) model.Model) {
	s := suite{wire: wire, connect: connect}
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"AnswersArriveWhole", s.whole},
		{"CallerIsNotInTheBody", s.caller},
		{"ErrorsAreClassified", s.errors},
		{"ErrorsInsideAStreamAreErrors", s.errorInside},
		{"ErrorsNeverHoldTheKey", s.key},
		{"PartialStreamNeverFinishes", s.cut},
		{"CallsOfACutAnswerAreNotMade", s.length},
		{"CallsWithBrokenInputAreNotMade", s.broken},
		{"RefusalIsAnError", s.refusal},
		{"EmptyAnswerIsAnError", s.empty},
		{"BreakingTheLoopCancels", s.breaking},
		{"CancelCauseIsKept", s.cause},
		{"UnreachableIsANetworkError", s.unreachable},
		{"ConcurrentUse", s.concurrent},
	} {
		t.Run(c.name, c.run)
	}
}

type suite struct {
	wire    Wire
	connect func(*httptest.Server) model.Model
}

// Request is a small request for tests.
func Request(text string) *model.Request {
	return &model.Request{
		Model: "test-model", MaxTokens: 100,
		System:   []json.RawMessage{model.EncodeSystem("be brief")},
		Tools:    []json.RawMessage{model.EncodeTool("Bash", "runs", json.RawMessage(`{"type":"object"}`))},
		Messages: []model.Message{model.UserMessage(model.Text(text))},
		Caller:   model.Caller{Session: "caller-session", AgentID: "caller-id", Agent: "caller-name", Type: "caller-type"},
	}
}

func (s suite) start(t *testing.T, replies ...Reply) (*Server, model.Model) {
	srv := NewServer(t, s.wire, Replies(replies...))
	return srv, s.connect(srv.Server)
}

// collect reads a stream to its end and checks its form.
func collect(t *testing.T, m model.Model, r *model.Request) (events []model.Event, answer *model.Answer, err error) {
	t.Helper()
	for e, failure := range m.Stream(t.Context(), r) {
		if answer != nil || err != nil {
			t.Errorf("an event came after the last: %v %v", e, failure)
		}
		if failure != nil {
			err = failure
			continue
		}
		if e.Kind == model.Finished {
			answer = e.Answer
		}
		events = append(events, e)
	}
	if (answer == nil) == (err == nil) {
		t.Errorf("a stream ended with answer %v and error %v, want exactly one", answer, err)
	}
	return events, answer, err
}

func kind(err error) model.ErrorKind {
	var e *model.Error
	if !errors.As(err, &e) {
		return model.ErrorKind(fmt.Sprintf("%v", err))
	}
	return e.Kind
}

func (s suite) whole(t *testing.T) {
	blocks := []model.Block{
		{Type: model.TypeThinking, Thinking: "let me think about it", Signature: "c2ln"},
		model.Text("héllo <wörld> & \"all\""),
		model.ToolUse("id1", "Bash", json.RawMessage(`{"command":"ls <x>","b":{"z":[1,2],"a":null}}`)),
		model.ToolUse("id2", "Read", json.RawMessage(`{"file_path":"/tmp/x"}`)),
	}
	usage := model.Usage{InputTokens: 11, OutputTokens: 7, CacheReadInputTokens: 5}
	_, m := s.start(t, Reply{Blocks: blocks, Usage: usage})
	events, a, err := collect(t, m, Request("go"))
	if err != nil {
		t.Fatal(err)
	}
	text, thinking, calls := "", "", ""
	for _, e := range events {
		switch e.Kind {
		case model.TextDelta:
			text += e.Text
		case model.ThinkingDelta:
			thinking += e.Text
		case model.CallStarted:
			calls += e.Call.ID + e.Call.Name + " "
		}
	}
	if text != blocks[1].Text || a.Text() != text || thinking != blocks[0].Thinking || calls != "id1Bash id2Read " {
		t.Errorf("deltas gave text %q, thinking %q, calls %q; the answer says %q", text, thinking, calls, a.Text())
	}
	got := a.Calls()
	if len(got) != 2 || string(got[0].Input) != string(blocks[2].Input) || got[1].Name != "Read" {
		t.Errorf("calls are %+v", got)
	}
	if a.Usage != usage || a.StopReason != model.StopToolUse {
		t.Errorf("usage %+v, stop reason %q", a.Usage, a.StopReason)
	}
}

func (s suite) caller(t *testing.T) {
	srv, m := s.start(t, Say("ok"))
	if _, _, err := collect(t, m, Request("hello")); err != nil {
		t.Fatal(err)
	}
	body := string(srv.Requests()[0].Body)
	if strings.Contains(body, "caller-") || !strings.Contains(body, "hello") || !json.Valid([]byte(body)) {
		t.Errorf("the body is %s", body)
	}
}

func (s suite) errors(t *testing.T) {
	for _, c := range []struct {
		reply Reply
		want  model.ErrorKind
	}{
		{Error(429, "rate_limit_error", "slow"), model.RateLimited},
		{Error(529, "overloaded_error", "full"), model.Overloaded},
		{Error(500, "api_error", "oops"), model.Server},
		{Reply{Status: 502, Raw: []byte("<html>bad gateway</html>")}, model.Server},
		{Error(504, "timeout_error", "late"), model.Server},
		{Error(401, "authentication_error", "who"), model.Auth},
		{Error(403, "permission_error", "no"), model.Auth},
		{Error(429, "enforced_spend_limit_reached", "pay"), model.Spend},
		{Error(400, "invalid_request_error", "prompt is too long: 2 > 1"), model.TooLong},
		{Error(413, "request_too_large", "big"), model.TooLong},
		{Error(400, "invalid_request_error", "bad"), model.Invalid},
		{Reply{Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/x"}}, Raw: []byte("x")}, model.Invalid},
	} {
		c.reply.Header = cloneWith(c.reply.Header, "Retry-After", "3")
		srv, m := s.start(t, c.reply)
		_, _, err := collect(t, m, Request("x"))
		if kind(err) != c.want {
			t.Errorf("%d %s: %v, want %s", c.reply.Status, c.reply.ErrorType, err, c.want)
		}
		var e *model.Error
		if c.want == model.RateLimited && errors.As(err, &e) && e.RetryAfter != 3*time.Second {
			t.Errorf("retry-after is %v, want 3s", e.RetryAfter)
		}
		if n := len(srv.Requests()); n != 1 {
			t.Errorf("%d %s: %d requests, want 1", c.reply.Status, c.reply.ErrorType, n)
		}
	}
}

func cloneWith(h http.Header, name, value string) http.Header {
	if h = h.Clone(); h == nil {
		h = http.Header{}
	}
	h.Set(name, value)
	return h
}

func (s suite) errorInside(t *testing.T) {
	for after := range 5 {
		r := Say("some text that does not end")
		r.After, r.ErrorType, r.ErrorText = after, "overloaded_error", "Overloaded"
		_, m := s.start(t, r)
		if _, _, err := collect(t, m, Request("x")); kind(err) != model.Overloaded {
			t.Errorf("after %d events: %v, want an overloaded error", after, err)
		}
	}
}

func (s suite) key(t *testing.T) {
	for _, r := range []Reply{
		Error(401, "authentication_error", "the key "+Key+" is wrong"),
		{ErrorType: "api_error", ErrorText: Key},
		{Status: 500, Raw: []byte(Key)},
		{Raw: []byte("data: {" + Key + "\n\n")},
	} {
		_, m := s.start(t, r)
		_, _, err := collect(t, m, Request("x"))
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), Key) {
			t.Errorf("the error is %v", err)
		}
	}
}

func (s suite) cut(t *testing.T) {
	r := Reply{Blocks: []model.Block{model.Text("some text"), model.ToolUse("i", "Bash", json.RawMessage(`{"command":"rm"}`))}}
	events, complete := s.wire.events(r)
	for after := range complete {
		r.Cut, r.After = true, after
		_, m := s.start(t, r)
		if _, _, err := collect(t, m, Request("x")); kind(err) != model.Truncated {
			t.Errorf("cut after %d of %d events: %v, want a truncated error", after, complete, err)
		}
		clean := Reply{Raw: []byte{}}
		for _, e := range events[:after] {
			clean.Raw = append(clean.Raw, e...)
		}
		_, m = s.start(t, clean)
		if _, _, err := collect(t, m, Request("x")); kind(err) != model.Truncated {
			t.Errorf("a clean end after %d of %d events: %v, want a truncated error", after, complete, err)
		}
	}
}

func (s suite) length(t *testing.T) {
	for _, input := range []string{`{"command":"rm -r`, `{}`, ``, `{"command":"ls"}`} {
		_, m := s.start(t, Reply{
			StopReason: model.StopMaxTokens, Blocks: []model.Block{model.Text("so"), model.ToolUse("i", "Bash", json.RawMessage(input))},
		})
		_, a, err := collect(t, m, Request("x"))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range a.Message.Blocks() {
			if b.Type == model.TypeToolUse {
				t.Errorf("input %q: the message of a cut answer has a call", input)
			}
		}
		if len(a.Calls()) > 0 || a.StopReason != model.StopMaxTokens {
			t.Errorf("input %q: calls %v, stop reason %s", input, a.Calls(), a.StopReason)
		}
	}
}

func (s suite) broken(t *testing.T) {
	for name, blocks := range map[string][]model.Block{
		"half":  {model.ToolUse("i", "Bash", json.RawMessage(`{"command":"rm -r`))},
		"list":  {model.ToolUse("i", "Bash", json.RawMessage(`[1]`))},
		"twice": {model.ToolUse("i", "Bash", json.RawMessage(`{}`)), model.ToolUse("i", "Bash", json.RawMessage(`{}`))},
	} {
		_, m := s.start(t, Reply{Blocks: blocks})
		if _, _, err := collect(t, m, Request("x")); kind(err) != model.Truncated {
			t.Errorf("%s: %v, want a truncated error", name, err)
		}
	}
}

func (s suite) refusal(t *testing.T) {
	r := Say("I")
	r.StopReason = "refusal"
	_, m := s.start(t, r)
	if _, _, err := collect(t, m, Request("x")); kind(err) != model.Refused {
		t.Errorf("got %v, want a refused error", err)
	}
}

func (s suite) empty(t *testing.T) {
	_, m := s.start(t, Reply{})
	if _, _, err := collect(t, m, Request("x")); kind(err) != model.Empty {
		t.Errorf("got %v, want an empty error", err)
	}
}

func (s suite) breaking(t *testing.T) {
	gone := make(chan struct{})
	r := Say("some text")
	r.After, r.Stall, r.Ended = 4, true, func() { close(gone) }
	_, m := s.start(t, r)
	for e, err := range m.Stream(t.Context(), Request("x")) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == model.TextDelta {
			break
		}
	}
	select {
	case <-gone:
	case <-t.Context().Done():
		t.Error("the request went on")
	}
}

func (s suite) cause(t *testing.T) {
	r := Say("some text")
	r.After, r.Stall = 4, true
	_, m := s.start(t, r)
	why := errors.New("stopped by parent")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for e, err := range m.Stream(ctx, Request("x")) {
		if e.Kind == model.TextDelta {
			cancel(why)
		}
		last = err
	}
	if !errors.Is(last, why) {
		t.Errorf("the stream ended with %v, want the cause of the cancellation", last)
	}
}

func (s suite) unreachable(t *testing.T) {
	srv, _ := s.start(t, Say("x"))
	m := s.connect(srv.Server)
	srv.Close()
	if _, _, err := collect(t, m, Request("x")); kind(err) != model.Network {
		t.Errorf("got %v, want a network error", err)
	}
}

func (s suite) concurrent(t *testing.T) {
	srv := NewServer(t, s.wire, func(_ int, r Recorded) Reply {
		for i := range 20 {
			if strings.Contains(string(r.Body), fmt.Sprintf("number %d.", i)) {
				return Say(fmt.Sprintf("answer %d.", i))
			}
		}
		return Error(400, "invalid_request_error", "unknown")
	})
	m := s.connect(srv.Server)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			a, err := model.Complete(t.Context(), m, Request(fmt.Sprintf("number %d.", i)))
			if err != nil {
				t.Error(err)
			} else if want := fmt.Sprintf("answer %d.", i); a.Text() != want {
				t.Errorf("got %q, want %q", a.Text(), want)
			}
		})
	}
	wg.Wait()
}
