package stream

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/clitest"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/model"
)

var uuids = regexp.MustCompile(`"uuid":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`)

func normal(text string) string {
	return strings.ReplaceAll(uuids.ReplaceAllString(text, `"uuid":"UUID"`), cli.Version(), "VERSION")
}

func testStream(out io.Writer, forward bool, unread func()) *Writer {
	return New(out, Options{
		Session: "one", Forward: forward, Transcripts: "/state/transcripts", OnWriteError: unread,
		Setup: func() Setup {
			return Setup{
				Dir: "/repo", Model: "sonnet", Mode: "default", KeySource: "none",
				Tools: []string{"Read", "Agent"}, Agents: []string{"Explore", "reviewer"},
			}
		},
	})
}

func goodEnd() view.RunResult {
	u := model.Usage{InputTokens: 8000, OutputTokens: 200, CacheReadInputTokens: 7}
	cost := swarm.Cost{USD: swarm.Dollar * 18 / 1000}
	return view.RunResult{Result: swarm.Result{
		Session: "one", Text: "All is <well>.", Outcome: "completed", Steps: 2, Usage: u,
		Tree: map[string]swarm.ModelUse{"claude-sonnet-5-5": {Usage: u, Cost: cost}}, Cost: cost, Agents: 3, Took: 5 * time.Second,
	}}
}

func TestStreamShapes(t *testing.T) {
	for name, forward := range map[string]bool{"stream.jsonl": false, "stream-forward.jsonl": true} {
		var b bytes.Buffer
		v := testStream(&b, forward, nil)
		for _, e := range clitest.Story() {
			v.Handle(e)
		}
		if err := v.Finish(goodEnd()); err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, name, normal(b.String()))
		clitest.CheckStream(t, b.String())
	}
}

func TestResultShapes(t *testing.T) {
	var b bytes.Buffer
	for _, end := range []view.RunResult{
		goodEnd(),
		{Result: swarm.Result{Session: "one", Outcome: "max_turns", Reason: "the limit of 2 turns is reached", Text: "so far", Steps: 2}},
		{Result: swarm.Result{Session: "one", Outcome: "failed", Reason: "the API refused the credentials", Steps: 1}},
		{Result: swarm.Result{Session: "one"}, Err: errors.New("interrupted")},
	} {
		tally := newTally()
		for _, e := range clitest.Story() {
			tally.add(e)
		}
		v := &ResultWriter{out: &b, tally: tally}
		if err := v.Finish(end); err != nil {
			t.Fatal(err)
		}
	}
	clitest.Golden(t, "result.jsonl", normal(b.String()))
}

func TestAnInterruptSaysWhatItHasCut(t *testing.T) {
	cut := view.RunResult{Result: swarm.Result{Outcome: "interrupted"}, Err: swarm.ErrInterrupted}
	asked := clitest.Of(clitest.Lead, event.Requested{Step: 0})
	for want, events := range map[string][]event.Event{
		"aborted_streaming": clitest.Timed(asked),
		"aborted_tools":     clitest.Timed(asked, clitest.Of(clitest.Lead, clitest.Answered("", model.Usage{}, clitest.Call("c", "Bash", `{}`)))),
	} {
		tally := newTally()
		for _, e := range events {
			tally.add(e)
		}
		if got := tally.result(cut).Terminal; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	told := 0
	s := testStream(noRoom{}, false, func() { told++ })
	for _, e := range clitest.Story() {
		s.Handle(e)
	}
	if err := s.Finish(goodEnd()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("stream-json: %v", err)
	}
	if told != 1 {
		t.Errorf("the session was told %d times that nobody reads", told)
	}
	j := &ResultWriter{out: noRoom{}, tally: newTally()}
	if err := j.Finish(goodEnd()); err == nil {
		t.Error("json: no error")
	}
}
