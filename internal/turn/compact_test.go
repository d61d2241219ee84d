package turn_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
	"pgregory.net/rapid"
)

// narrow is a model with a small window: it counts four bytes a token, refuses what does
// not fit, and checks every request.
type narrow struct {
	window    int64
	say       func(r *model.Request) (*model.Answer, error) // answers requests that are not for a summary
	summarize func(r *model.Request) (*model.Answer, error) // nil: a short summary

	mu        sync.Mutex
	largest   int64    // largest request that was answered, in tokens
	summaries int      // requested
	refused   int      // requests that were too long
	broken    []string // what was invalid
}

func (n *narrow) model() *modeltest.Fake {
	return modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
		size := tokensOf(r)
		n.mu.Lock()
		defer n.mu.Unlock()
		if why := invalid(r.Messages); why != "" {
			n.broken = append(n.broken, why)
		}
		if size > n.window {
			n.refused++
			return nil, &model.Error{Kind: model.TooLong, Message: fmt.Sprint(size, " tokens")}
		}
		n.largest = max(n.largest, size)
		a, err := n.answer(r)
		if a != nil {
			a.Usage = model.Usage{InputTokens: size, OutputTokens: int64(len(a.Message.Raw()) / 4)}
		}
		return a, err
	})
}

func (n *narrow) answer(r *model.Request) (*model.Answer, error) {
	if !asksForSummary(r) {
		return n.say(r)
	}
	n.summaries++
	if n.summarize != nil {
		return n.summarize(r)
	}
	return modeltest.Answer(model.Text(fmt.Sprint("in short, number ", n.summaries))), nil
}

func asksForSummary(r *model.Request) bool {
	return strings.Contains(last(*r), "about to be compacted")
}

func tokensOf(r *model.Request) int64 {
	n := 0
	for _, raw := range r.System {
		n += len(raw)
	}
	for _, raw := range r.Tools {
		n += len(raw)
	}
	for _, m := range r.Messages {
		n += len(m.Raw())
	}
	return int64(n / 4)
}

// invalid returns why an API would refuse a conversation: each call must have its
// result in the next message, each result its call in the one before.
func invalid(msgs []model.Message) string {
	if len(msgs) == 0 || msgs[0].Role() != model.RoleUser {
		return "the conversation does not begin with the user"
	}
	open := map[string]bool{}
	for i, m := range msgs {
		results := 0
		for _, b := range m.Blocks() {
			if b.Type == model.TypeToolResult {
				if !open[b.ToolUseID] {
					return fmt.Sprintf("message %d has a result of %s, which was not called before", i, b.ToolUseID)
				}
				results++
			}
		}
		if results != len(open) {
			return fmt.Sprintf("message %d has %d results for %d calls", i, results, len(open))
		}
		clear(open)
		for _, b := range m.Blocks() {
			if b.Type == model.TypeToolUse {
				open[b.ID] = true
			}
		}
	}
	return ""
}

// check reports invalid requests and those above 80 % of the window.
func (n *narrow) check(t interface{ Errorf(string, ...any) }) {
	if len(n.broken) > 0 {
		t.Errorf("requests were not valid: %v", n.broken)
	}
	if n.largest > n.window*80/100 {
		t.Errorf("a request took %d of %d tokens", n.largest, n.window)
	}
	if n.refused > 0 {
		t.Errorf("%d requests were too long", n.refused)
	}
}

// spills keeps texts in a directory.
func spills(dir string) func(id, text string) (string, error) {
	return func(id, text string) (string, error) {
		path := filepath.Join(dir, id)
		return path, os.WriteFile(path, []byte(text), 0o600)
	}
}

func words(n int) string { return strings.Repeat("word ", n/5) }

func TestManyResultsAreAdmittedBySize(t *testing.T) {
	const agents = 30
	body := func(id string) string { return id + strings.Repeat(" \"quoted\"\n", 24_000) } // 60,000 tokens
	n := &narrow{window: 200_000}
	step := 0
	n.say = func(*model.Request) (*model.Answer, error) {
		if step++; step > 1 {
			return modeltest.Answer(model.Text("all are in")), nil
		}
		var calls []model.Block
		for i := range agents {
			calls = append(calls, model.ToolUse(fmt.Sprint("c", i), "Agent", nil))
		}
		return modeltest.Answer(calls...), nil
	}
	report := unit{tool.Spec{Name: "Agent", Parallel: true}, func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Result{Text: body(c.ID)}, nil
	}}
	dir := t.TempDir()
	b := newBench(t, dir, n.model(), report)
	b.turn.Window, b.turn.Spill = n.window, spills(dir)
	must(t, b.log.Prompt("user", "ask all"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	if end.Text != "all are in" || end.Steps != 2 {
		t.Fatalf("the end is %+v", end)
	}
	n.check(t)
	if n.summaries > 1 {
		t.Errorf("%d compactions for one load of results", n.summaries)
	}
	msgs, err := b.log.Messages()
	must(t, err)
	got := string(msgs[2].Raw())
	for i := range agents {
		id := fmt.Sprint("c", i)
		if !strings.Contains(got, filepath.Join(dir, id)) {
			t.Errorf("nothing says where the whole of %s is", id)
		}
		whole, err := os.ReadFile(filepath.Join(dir, id))
		must(t, err)
		if string(whole) != body(id) {
			t.Errorf("what is kept of %s is not the whole", id)
		}
	}
}

// long prepares an agent whose conversation takes about so many tokens.
func (b *bench) long(t testing.TB, tokens int64) {
	t.Helper()
	must(t, b.log.Prompt("user", "the task is to count"))
	each := tokens / 20
	for i := range 20 {
		d, err := b.log.Draft()
		must(t, err)
		_, err = b.log.Admit(transcript.Intake{})
		must(t, err)
		call := fmt.Sprintf("h%d-%d", i, len(d.Messages))
		a := modeltest.Answer(model.Text(fmt.Sprint("step ", i)), model.ToolUse(call, "Read", nil))
		a.Usage = model.Usage{InputTokens: each * int64(i), CacheReadInputTokens: 10}
		must(t, b.log.Answer(a))
		must(t, b.log.FinishCall(call, transcript.CallResult{Text: words(int(each) * 4)}, false))
	}
	must(t, b.log.End(agent.Completed, "", "", ""))
}

func TestEverythingIsHandledAtTheEndOfTheWindow(t *testing.T) {
	n := &narrow{window: 10_000}
	seen := map[string]bool{}
	n.say = func(r *model.Request) (*model.Answer, error) {
		for i := range 50 {
			if id := fmt.Sprintf("order %d.", i); strings.Contains(last(*r), id) {
				seen[id] = true
			}
		}
		return modeltest.Answer(model.Text("noted")), nil
	}
	b := newBench(t, t.TempDir(), n.model())
	b.turn.Window = n.window
	b.long(t, 9_900)
	for i := range 50 {
		b.mail(t, fmt.Sprintf("order %d. ", i)+words(1000))
	}
	end, err := b.turn.Run(t.Context())
	must(t, err)
	if end.Outcome != agent.Completed || len(seen) != 50 || len(b.log.Unread()) != 0 {
		t.Errorf("the end is %+v; %d of 50 messages were seen, %d are unread", end, len(seen), len(b.log.Unread()))
	}
	n.check(t)
	if n.summaries == 0 || n.summaries > 10 {
		t.Errorf("%d compactions", n.summaries)
	}
}

func TestCompactionAddsCurrentFacts(t *testing.T) {
	n := &narrow{window: 10_000}
	var told []string
	n.say = func(r *model.Request) (*model.Answer, error) {
		told = append(told, last(*r))
		return modeltest.Answer(model.Text("noted")), nil
	}
	b := newBench(t, t.TempDir(), n.model())
	b.turn.Window, b.turn.Facts = n.window, func() string { return "ben is at work" }
	b.long(t, 9_900)
	b.mail(t, "news")
	_, err := b.turn.Run(t.Context())
	must(t, err)
	b.mail(t, "more news")
	_, err = b.turn.Run(t.Context())
	must(t, err)
	if len(told) != 2 || !strings.Contains(told[0], "ben is at work") || !strings.Contains(told[0], "news") || strings.Contains(told[1], "ben is at work") {
		t.Errorf("the requests end in %q", told)
	}
}

func TestTooLongRequestIsCompactedOnce(t *testing.T) {
	for _, helps := range []bool{true, false} {
		requests, summaries := 0, 0
		m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
			if asksForSummary(r) {
				summaries++
				return modeltest.Answer(model.Text("in short")), nil
			}
			if requests++; requests == 1 || !helps {
				return nil, &model.Error{Kind: model.TooLong}
			}
			return modeltest.Answer(model.Text("done")), nil
		})
		b := newBench(t, t.TempDir(), m)
		b.turn.Window = 1 << 30 // the runtime does not know the real window
		b.long(t, 9_900)
		must(t, b.log.Prompt("user", "go on"))
		end, err := b.turn.Run(t.Context())
		must(t, err)
		if helps && end.Text != "done" || !helps && (end.Outcome != agent.Failed || !strings.Contains(end.Reason, "longer than the model can take")) {
			t.Errorf("helps %v: the end is %+v", helps, end)
		}
		if requests != 2 || summaries != 1 {
			t.Errorf("helps %v: %d requests and %d summaries", helps, requests, summaries)
		}
	}
}

func TestIncompressibleConversationFailsOnce(t *testing.T) {
	n := &narrow{window: 10_000}
	n.say = func(*model.Request) (*model.Answer, error) { return modeltest.Answer(model.Text("noted")), nil }
	m := n.model()
	b := newBench(t, t.TempDir(), m)
	b.turn.Window = n.window
	b.turn.Base.System = append(b.turn.Base.System, model.EncodeSystem(words(31_000)))
	for i := range 20 {
		b.mail(t, fmt.Sprint("message ", i, words(2000)))
	}
	var end turn.End
	var err error
	for range 20 {
		if end, err = b.turn.Run(t.Context()); end.Outcome == agent.Failed {
			break
		}
		must(t, err)
		b.mail(t, words(2000))
	}
	if !strings.Contains(end.Reason, "cannot be compacted further") || !strings.Contains(end.Reason, "10000") {
		t.Errorf("the end is %+v", end)
	}
	if got := len(m.Requests()); got > 45 || n.summaries > 5 {
		t.Errorf("%d requests, %d summaries", got, n.summaries)
	}
	if n.refused > 0 || len(n.broken) > 0 {
		t.Errorf("%d requests were too long; not valid: %v", n.refused, n.broken)
	}
	if b.log.HasWork() {
		t.Error("what is left is the reason for another turn like this")
	}
}

func TestFailedSummaryDoesNotEndTheAgent(t *testing.T) {
	for _, kind := range []model.ErrorKind{model.TooLong, model.Refused, model.Empty, model.Invalid} {
		n := &narrow{window: 10_000}
		n.summarize = func(*model.Request) (*model.Answer, error) { return nil, &model.Error{Kind: kind} }
		n.say = func(*model.Request) (*model.Answer, error) { return modeltest.Answer(model.Text("noted")), nil }
		b := newBench(t, t.TempDir(), n.model())
		b.turn.Window, b.turn.TranscriptPath = n.window, "/the/record.jsonl"
		b.long(t, 9_900)
		b.mail(t, "news")
		end, err := b.turn.Run(t.Context())
		must(t, err)
		msgs, err := b.log.Messages()
		must(t, err)
		if got := string(msgs[0].Raw()); end.Text != "noted" || !strings.Contains(got, "the task is to count") || !strings.Contains(got, "/the/record.jsonl") {
			t.Errorf("%s: the end is %+v, the conversation begins with %s", kind, end, got)
		}
		n.check(t)
	}
}

func TestTemporaryFailureLeavesTheConversation(t *testing.T) {
	n := &narrow{window: 10_000}
	failing := true
	n.summarize = func(*model.Request) (*model.Answer, error) {
		if failing {
			return nil, &model.Error{Kind: model.Network}
		}
		return modeltest.Answer(model.Text("in short")), nil
	}
	n.say = func(*model.Request) (*model.Answer, error) { return modeltest.Answer(model.Text("noted")), nil }
	b := newBench(t, t.TempDir(), n.model())
	b.turn.Window = n.window
	b.long(t, 9_900)
	before, err := b.log.Messages()
	must(t, err)
	must(t, b.log.Prompt("user", "go on"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	after, err := b.log.Messages()
	must(t, err)
	if end.Outcome != agent.Failed || len(after) != len(before) {
		t.Errorf("the end is %+v; of %d messages %d are left", end, len(before), len(after))
	}
	failing = false
	must(t, b.log.Prompt("user", "again"))
	end, err = b.turn.Run(t.Context())
	must(t, err)
	if end.Text != "noted" || n.summaries != 2 {
		t.Errorf("the end is %+v after %d summaries", end, n.summaries)
	}
}

func TestStopEndsACompactionAtOnce(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	m := modeltest.Each(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		stop(turn.ErrStopped)
		return modeltest.Hang()(ctx, r)
	})
	b := newBench(t, t.TempDir(), m)
	b.turn.Window = 10_000
	b.long(t, 9_990)
	b.mail(t, "news")
	end, err := b.turn.Run(ctx)
	must(t, err)
	if end.Outcome != agent.Stopped || b.log.Record().Compactions != 0 || len(m.Requests()) != 1 || !asksForSummary(&m.Requests()[0]) {
		t.Errorf("the end is %+v", end)
	}
}

func TestRecordedSummaryIsNotRequestedAgain(t *testing.T) {
	dir := t.TempDir()
	n := &narrow{window: 10_000}
	n.say = func(*model.Request) (*model.Answer, error) { return modeltest.Answer(model.Text("noted")), nil }
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	b := newBench(t, dir, n.model())
	b.turn.Window = n.window
	b.turn.Emit = func(f event.Fact) {
		if _, made := f.(event.Compacted); made {
			kill(turn.ErrShutdown)
		}
	}
	b.long(t, 9_900)
	must(t, b.log.Prompt("user", "go on"))
	end, err := b.turn.Run(ctx)
	must(t, err)
	if !end.Open {
		t.Fatalf("the turn was not cut: %+v", end)
	}
	must(t, b.store.Close())
	b = newBench(t, dir, n.model())
	b.turn.Window = n.window
	end, err = b.turn.Run(t.Context())
	must(t, err)
	if end.Text != "noted" || n.summaries != 1 {
		t.Errorf("the end is %+v after %d summaries", end, n.summaries)
	}
}

func TestCompactionOnDemand(t *testing.T) {
	n := &narrow{window: 1_000_000}
	n.say = func(*model.Request) (*model.Answer, error) { return modeltest.Answer(model.Text("noted")), nil }
	b := newBench(t, t.TempDir(), n.model())
	b.turn.Window = n.window
	if err := b.turn.Compact(t.Context()); !errors.Is(err, turn.ErrNothingToCompact) {
		t.Errorf("an empty conversation gives %v", err)
	}
	b.long(t, 100_000)
	must(t, b.turn.Compact(t.Context()))
	if got := b.log.Record(); got.Compactions != 1 || got.TurnOpen {
		t.Errorf("the life is %+v", got)
	}
	asked := make(chan error, 1)
	b.turn.CompactRequest = func() func(error) {
		b.turn.CompactRequest = nil
		return func(err error) { asked <- err }
	}
	b.long(t, 100_000)
	must(t, b.log.Prompt("user", "go on"))
	end, err := b.turn.Run(t.Context())
	must(t, err)
	if err := <-asked; err != nil || end.Text != "noted" || n.summaries != 2 {
		t.Errorf("asked for during the turn: %v; the end is %+v", err, end)
	}
	n.check(t)
}

// TestNoRequestExceedsItsShare drives an agent with prompts, mail
// and results of any size. A case takes a while, so an everyday run tries a third of
// the usual 100.
func TestNoRequestExceedsItsShare(t *testing.T) {
	if os.Getenv("SWARM_SOAK") == "" {
		checks := flag.Lookup("rapid.checks").Value
		defer func(old string) { must(t, checks.Set(old)) }(checks.String())
		must(t, checks.Set("33"))
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := &narrow{window: rapid.Int64Range(4_000, 10_000).Draw(rt, "window")}
		size := rapid.IntRange(0, int(n.window)*4)
		calls, asked := rapid.IntRange(0, 16).Draw(rt, "calls"), 0
		n.say = func(*model.Request) (*model.Answer, error) {
			blocks := []model.Block{model.Text(words(rapid.IntRange(5, 800).Draw(rt, "answer")))}
			for range min(rapid.IntRange(0, 12).Draw(rt, "parallel"), calls-asked) {
				blocks = append(blocks, model.ToolUse(fmt.Sprint("c", asked), "Read", nil))
				asked++
			}
			return modeltest.Answer(blocks...), nil
		}
		read := unit{tool.Spec{Name: "Read", ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: strings.Repeat("a \"b\"\n", rapid.IntRange(0, 3_000).Draw(rt, "result"))}, nil
		}}
		s, err := transcript.Open(t.Context(), t.TempDir(), "session", transcript.Options{
			NoLines: true, Journal: journal.Options{FS: journaltest.New()},
		})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		log, _, err := s.Create(agent.Spec{ID: "alice", Name: "alice", Born: time.Now()})
		must(t, err)
		b := &bench{store: s, log: log}
		for range rapid.IntRange(1, 4).Draw(rt, "turns") {
			b.turn = &turn.Turn{Log: log, Model: n.model(), Tools: tool.NewSet(read), Window: n.window, Base: model.Request{Model: "m"}}
			must(t, log.Prompt("user", words(size.Draw(rt, "prompt"))+"."))
			for range rapid.IntRange(0, 12).Draw(rt, "messages") {
				b.mail(t, words(size.Draw(rt, "message")))
			}
			end, err := b.turn.Run(t.Context())
			must(t, err)
			if end.Outcome != agent.Completed {
				rt.Fatalf("the end is %+v", end)
			}
		}
		n.check(rt)
		if left := log.Unread(); len(left) > 0 {
			rt.Fatalf("%d messages are unread", len(left))
		}
	})
}
