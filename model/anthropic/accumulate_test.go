package anthropic

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/internal/transport"
)

const (
	start  = `{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}`
	open0  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	text0  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`
	close0 = `{"type":"content_block_stop","index":0}`
	tool1  = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}`
	input1 = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`
	close1 = `{"type":"content_block_stop","index":1}`
	end    = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`
	stop   = `{"type":"message_stop"}`
)

func stream(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// readAll runs the reader of streams over bytes.
func readAll(src string) (*model.Answer, error) {
	c := &Client{}
	w := transport.Watch(func(error) {}, 0, 0)
	defer w.Stop()
	return c.read(strings.NewReader(src), w, func(model.Event, error) bool { return true })
}

func TestContradictionsAreTruncatedAnswers(t *testing.T) {
	if _, err := readAll(stream(start, open0, text0, close0, tool1, input1, close1, end, stop)); err != nil {
		t.Fatal(err)
	}
	for name, events := range map[string][]string{
		"two starts":            {start, start},
		"no start":              {open0, text0, close0, end, stop},
		"wrong index":           {start, tool1, input1, close1, end, stop},
		"index of nothing":      {start, text0},
		"negative index":        {start, `{"type":"content_block_stop","index":-1}`},
		"delta after the end":   {start, open0, close0, text0, end, stop},
		"block ends twice":      {start, open0, text0, close0, close0, end, stop},
		"block never ends":      {start, open0, text0, end, stop},
		"no stop reason":        {start, open0, text0, close0, stop},
		"stop alone":            {start, stop},
		"delta of another type": {start, open0, input1, close0, end, stop},
		"input for text":        {start, open0, strings.Replace(input1, ":1", ":0", 1), close0, end, stop},
		"not JSON":              {start, `{"type":`},
		"other form":            {start, `{"type":"content_block_delta","index":"0"}`},
		"block is a string":     {start, `{"type":"content_block_start","index":0,"content_block":"x"}`},
		"call without a name":   {start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t"}}`},
		"block after the end":   {start, end, open0, text0, close0, stop},
	} {
		_, err := readAll(stream(events...))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Truncated {
			t.Errorf("%s: got %v, want a truncated error", name, err)
		}
	}
}

func TestUnknownEventsArePassedOver(t *testing.T) {
	src := "\xEF\xBB\xBF: hello\r\n" + stream(`{"type":"ping"}`, start, `{"type":"new_thing","index":"text","delta":7}`, open0, text0,
		`{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","x":1}}`, close0, end, stop)
	a, err := readAll(src)
	if err != nil {
		t.Fatal(err)
	}
	if a.Text() != "hi" || a.Usage != (model.Usage{InputTokens: 1, OutputTokens: 9}) {
		t.Errorf("text %q, usage %+v", a.Text(), a.Usage)
	}
}

func TestDeltasOfUnknownBlocksAreKept(t *testing.T) {
	a, err := readAll(stream(start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","input":{},"zz":"\u003c"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"<x>\"}"}}`, close0,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"<b>"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"u":"<c>"}}}`, close1, end, stop))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","input":{"query":"<x>"},"zz":"\u003c"},` +
		`{"type":"text","text":"<b>","citations":[{"u":"<c>"}]}]}`
	if string(a.Message.Raw()) != want {
		t.Errorf("got  %s\nwant %s", a.Message.Raw(), want)
	}
}

func TestEndlessLineIsRefused(t *testing.T) {
	c := &Client{}
	w := transport.Watch(func(error) {}, 0, 0)
	defer w.Stop()
	endless := io.MultiReader(strings.NewReader("data: "), strings.NewReader(strings.Repeat("x", 50<<20)))
	if _, err := c.read(endless, w, func(model.Event, error) bool { return true }); err == nil {
		t.Error("a line of 50 MB was read")
	}
}

// FuzzStream: whatever comes, there is no panic, and an answer only from a
// stream that holds message_stop.
func FuzzStream(f *testing.F) {
	f.Add(stream(start, open0, text0, close0, tool1, input1, close1, end, stop))
	f.Add(stream(start, open0, text0, close0, end))
	f.Add(stream(start, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`))
	f.Add("\xEF\xBB\xBFevent: ping\rdata: {\"type\":\"ping\"}\r\r" + stream(start, end, stop))
	f.Add(stream(start, `{"type":"content_block_start","index":0,"content_block":{"type":"x","input":{}}}`, strings.ReplaceAll(input1, `:1,`, `:0,`), close0, end, stop))
	f.Fuzz(func(t *testing.T, src string) {
		a, err := readAll(src)
		if (a == nil) == (err == nil) {
			t.Fatalf("answer %v and error %v", a, err)
		}
		if err != nil {
			return
		}
		if !strings.Contains(src, "message_stop") && !strings.Contains(src, `\u`) {
			t.Fatalf("an answer without message_stop: %s", a.Message.Raw())
		}
		if _, err := model.MessageFromRaw(a.Message.Raw()); err != nil {
			t.Fatal(err)
		}
		for _, call := range a.Calls() {
			if call.ID == "" || call.Name == "" || call.Input[0] != '{' {
				t.Fatalf("a broken call: %+v", call)
			}
		}
	})
}
