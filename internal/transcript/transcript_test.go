package transcript_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func open(t testing.TB, dir string) *transcript.Store {
	t.Helper()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func born(t testing.TB, s *transcript.Store, id mailbox.AgentID) *transcript.Transcript {
	t.Helper()
	a, wait, err := s.Create(agent.Spec{ID: id, Name: string(id), Role: agent.Teammate, Born: time.Now().UTC()})
	if err == nil {
		err = wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func frame(mail []mailbox.Envelope) []model.Block {
	var blocks []model.Block
	for _, e := range mail {
		blocks = append(blocks, model.Text(e.Body))
	}
	return blocks
}

func answer(text string, calls ...string) *model.Answer {
	blocks := []model.Block{model.Text(text)}
	for _, id := range calls {
		blocks = append(blocks, model.ToolUse(id, "Read", json.RawMessage(`{"file_path":"<a>&b"}`)))
	}
	return &model.Answer{ID: "msg", Model: "m", Message: model.AssistantMessage(blocks...), Usage: model.Usage{InputTokens: 3, OutputTokens: 2}}
}

func raws(t testing.TB, a *transcript.Transcript) []string {
	t.Helper()
	msgs, err := a.Messages()
	must(t, err)
	var out []string
	for _, m := range msgs {
		out = append(out, string(m.Raw()))
	}
	return out
}

func TestFoldingTheRecordsAgainGivesTheSameTranscript(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "fold")
		must(t, err)
		disk := transcript.Options{Journal: journal.Options{FS: journaltest.New(), SegmentBytes: 1 << 16}, NoLines: true}
		s, err := transcript.Open(t.Context(), dir, "session", disk)
		must(t, err)
		a := born(t, s, "alice")
		next := 0
		id := func() string { next++; return fmt.Sprint("call", next) }
		arrivals := uint64(0)
		var open []string
		rt.Repeat(map[string]func(*rapid.T){
			"prompt": func(rt *rapid.T) { must(t, a.Prompt("user", rapid.StringN(1, 20, -1).Draw(rt, "text"))) },
			"mail": func(rt *rapid.T) {
				arrivals++
				arrive(t, s, arrivals, rapid.StringN(1, 20, -1).Draw(rt, "body"))
			},
			"step": func(rt *rapid.T) {
				if len(open) > 0 {
					rt.Skip("calls are open")
				}
				_, _, err := a.Request(frame)
				must(t, err)
				for range rapid.IntRange(0, 3).Draw(rt, "calls") {
					open = append(open, id())
				}
				must(t, a.Answer(answer("text & <tag>", open...)))
			},
			"finish": func(rt *rapid.T) {
				if len(open) == 0 {
					rt.Skip("no call is open")
				}
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				must(t, a.StartCall(open[i], false))
				must(t, a.FinishCall(open[i], transcript.CallResult{Text: "result <b>"}, false))
				open = append(open[:i], open[i+1:]...)
			},
			"end": func(*rapid.T) {
				must(t, a.End(agent.Interrupted, "why", "text", "note"))
				open = nil
			},
			"partial step": func(rt *rapid.T) {
				if len(open) > 0 {
					rt.Skip("calls are open")
				}
				must(t, admitPart(rt, a))
				must(t, a.Answer(answer("text")))
			},
			"compact": func(rt *rapid.T) {
				c := transcript.Compaction{Summary: []model.Block{model.Text("in short <b>")}, Trigger: transcript.Auto, Usage: model.Usage{OutputTokens: 7}}
				if c.Keep, err = tail(rt, a); err != nil {
					rt.Skip("nothing to compact")
				}
				must(t, a.Compact(c))
			},
			"checkpoint": func(*rapid.T) { must(t, s.Checkpoint()) },
			"forget":     func(*rapid.T) { a.Forget() },
		})
		rec, msgs, unread := a.Record(), raws(t, a), a.Unread()
		must(t, s.Close())
		again, err := transcript.Open(t.Context(), dir, "session", disk)
		must(t, err)
		defer func() { must(t, again.Close()) }()
		b, ok := again.Get("alice")
		if !ok {
			rt.Fatal("alice is gone")
		}
		if d := cmp.Diff(rec, b.Record(), cmp.Comparer(time.Time.Equal)); d != "" {
			rt.Fatalf("the record differs: %s", d)
		}
		if d := cmp.Diff(msgs, raws(t, b)); d != "" {
			rt.Fatalf("conversation differs: %s", d)
		}
		if d := cmp.Diff(unread, b.Unread(), cmp.Comparer(time.Time.Equal)); d != "" {
			rt.Fatalf("unread mail differs: %s", d)
		}
	})
}

// admitPart makes a request that lets in a part of what waits.
func admitPart(rt *rapid.T, a *transcript.Transcript) error {
	d, err := a.Draft()
	if err != nil {
		return err
	}
	in := transcript.Intake{Waiting: len(d.Waiting), Short: map[int]model.Block{}}
	for i := range d.Waiting {
		if i >= len(d.Results) && rapid.Bool().Draw(rt, "short") {
			in.Short[i] = model.Text(rapid.StringN(1, 9, -1).Draw(rt, "stand-in"))
		}
	}
	for _, e := range d.Mail[:rapid.IntRange(0, len(d.Mail)).Draw(rt, "mail")] {
		in.Mail, in.Blocks = append(in.Mail, e.ID), append(in.Blocks, model.Text("cut"))
	}
	_, err = a.Admit(in)
	return err
}

// tail draws how much a compaction may keep.
func tail(rt *rapid.T, a *transcript.Transcript) (int, error) {
	d, err := a.Draft()
	if err != nil {
		return 0, err
	}
	var may []int
	for keep := 1; keep < len(d.Messages); keep++ {
		if d.Messages[len(d.Messages)-keep].Role() == model.RoleAssistant {
			may = append(may, keep)
		}
	}
	if len(may) == 0 {
		return 0, errors.New("nothing")
	}
	return rapid.SampledFrom(may).Draw(rt, "keep"), nil
}

func arrive(t testing.TB, s *transcript.Store, seq uint64, body string) mailbox.Arrival {
	t.Helper()
	a, err := s.Arrive(mailbox.Envelope{
		ID: mailbox.ID(fmt.Sprint("m", seq)), From: mailbox.Address{Agent: "bob", Incarnation: 1}, To: mailbox.Address{Agent: "alice"},
		Seq: seq, Kind: mailbox.KindText, Sent: time.Unix(1, 0).UTC(), FromName: "bob", Body: body,
	}, mailbox.Cursor{Stream: 1, Seq: seq})
	must(t, err)
	if a.Durable != nil {
		must(t, a.Durable())
	}
	return a
}

func TestBytesOfARequestAreABytePrefixOfEveryLaterOne(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "do <it> & be quick"))
	var before []string
	for i := range 5 {
		msgs, _, err := a.Request(frame)
		must(t, err)
		for n, raw := range before {
			if got := string(msgs[n].Raw()); got != raw {
				t.Fatalf("message %d changed from %s to %s", n, raw, got)
			}
		}
		call := fmt.Sprint("c", i)
		must(t, a.Answer(answer("next", call)))
		must(t, a.FinishCall(call, transcript.CallResult{Text: "r"}, false))
		before = raws(t, a)
	}
}

func TestResultsStandInCallOrderWhateverOrderTheyCameIn(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "go"))
	_, _, err := a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("two", "c1", "c2")))
	must(t, a.FinishCall("c2", transcript.CallResult{Text: "second"}, false))
	if _, _, err := a.Request(frame); err == nil {
		t.Error("a request left while a call had no result")
	}
	must(t, a.FinishCall("c1", transcript.CallResult{Text: "first"}, false))
	msgs, _, err := a.Request(frame)
	must(t, err)
	last := string(msgs[len(msgs)-1].Raw())
	if strings.Index(last, "first") > strings.Index(last, "second") {
		t.Errorf("results are not in call order: %s", last)
	}
}

func TestACallHasOneResult(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "go"))
	_, _, err := a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("one", "c1")))
	must(t, a.FinishCall("c1", transcript.CallResult{Text: "r"}, true))
	if err := a.FinishCall("c1", transcript.CallResult{Text: "again"}, true); err == nil {
		t.Error("a second result was taken")
	}
	if err := a.FinishCall("c9", transcript.CallResult{Text: "r"}, true); err == nil {
		t.Error("a result for a call that was not made was taken")
	}
}

func TestEndAnswersEveryOpenCall(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "go"))
	_, _, err := a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("three", "c1", "c2", "c3")))
	must(t, a.FinishCall("c2", transcript.CallResult{Text: "done"}, false))
	must(t, a.End(agent.Interrupted, "by the user", "", "cut off"))
	must(t, a.Prompt("user", "go on"))
	msgs, _, err := a.Request(frame)
	must(t, err)
	last := string(msgs[len(msgs)-1].Raw())
	if strings.Count(last, "tool_result") != 3 || strings.Count(last, "cut off") != 2 {
		t.Errorf("not every call has exactly one result: %s", last)
	}
}

// "Not run" would be a lie about a call that had begun.
func TestEndSaysOfABegunCallThatItMayHaveTakenEffect(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "go"))
	_, _, err := a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("two", "c1", "c2")))
	must(t, a.StartCall("c1", true))
	must(t, a.End(agent.Failed, "a bug", "", "not run"))
	must(t, a.Prompt("user", "go on"))
	msgs, _, err := a.Request(frame)
	must(t, err)
	last := string(msgs[len(msgs)-1].Raw())
	if strings.Count(last, "not run") != 1 || strings.Count(last, "may have taken effect") != 1 {
		t.Errorf("the results are %s", last)
	}
}

func TestAMessageSentTwiceUnderOneIDIsOneMessage(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	e := mailbox.Envelope{ID: "m1", To: mailbox.Address{Agent: "bob"}, Kind: mailbox.KindText, Body: "hello"}
	first, durable, err := a.Send(e)
	must(t, err)
	must(t, durable())
	if _, _, err = a.Send(e); err != nil {
		t.Fatal(err)
	}
	if p := s.Pending(); len(p) != 1 || p[0].Seq != first.Seq {
		t.Errorf("outbox holds %v, want one message", p)
	}
}

func TestAMessageBearsTheTimeAtWhichItWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		e, durable, err := born(t, s, "alice").Send(mailbox.Envelope{To: mailbox.Address{Agent: "bob"}, Kind: mailbox.KindText, Body: "hello"})
		must(t, err)
		must(t, durable())
		if p := s.Pending(); !e.Sent.Equal(time.Now()) || len(p) != 1 || !p[0].Sent.Equal(e.Sent) {
			t.Errorf("sent at %s, kept as %v", e.Sent, p)
		}
	})
}

func TestArrivalIsRecordedOnceAndReadInTheRequestThatCarriesIt(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a := born(t, s, "alice")
	arrive(t, s, 1, "one")
	if v := arrive(t, s, 1, "one").Verdict; v != mailbox.Duplicate {
		t.Errorf("the second arrival is %v", v)
	}
	if _, read, err := a.Request(frame); err != nil || len(read) != 1 {
		t.Fatalf("request carries %v, %v", read, err)
	}
	must(t, s.Close())
	b := open(t, dir)
	again, _ := b.Get("alice")
	if n := len(again.Unread()); n != 0 {
		t.Errorf("%d messages are unread again after a restart", n)
	}
	if got := raws(t, again); len(got) != 1 || strings.Count(got[0], "one") != 1 {
		t.Errorf("conversation after the restart: %v", got)
	}
	if c := b.Cursor(); c.Seq != 1 {
		t.Errorf("cursor is %v", c)
	}
}

// What a member outside has read, or will never read, is as read to its inbox as what a
// request carried.
func TestTheInboxOfAMemberOutsideTellsWhatItHasRead(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	arrive(t, s, 1, "one")
	arrive(t, s, 2, "two")
	arrive(t, s, 3, "three")
	must(t, a.Read(a.Unread()[0].ID))
	must(t, a.Reject(a.Unread()[0].ID, "nobody wants it"))
	all, err := s.Inbox("alice")
	must(t, err)
	var states []mailbox.State
	for _, m := range all {
		states = append(states, m.State())
	}
	if want := []mailbox.State{mailbox.StateRead, mailbox.StateRejected, mailbox.StateDelivered}; !slices.Equal(states, want) {
		t.Errorf("the states are %v, want %v", states, want)
	}
	if last := all[1].Steps[len(all[1].Steps)-1]; last.Reason != "nobody wants it" || last.Time.IsZero() {
		t.Errorf("the rejection is %+v", last)
	}
}

func TestGotFindsMailThatIsReadAndMailThatIsNot(t *testing.T) {
	s := open(t, t.TempDir())
	a := born(t, s, "alice")
	arrive(t, s, 1, "one")
	arrive(t, s, 2, "two")
	first, second := a.Unread()[0].ID, a.Unread()[1].ID
	must(t, a.Read(first))
	for id, body := range map[mailbox.ID]string{first: "one", second: "two"} {
		if e, found, err := s.Got("alice", id); err != nil || !found || e.Body != body {
			t.Errorf("message %s: %+v, found %v, %v; want %q", id, e, found, err, body)
		}
	}
	for _, c := range []struct{ to, id string }{{"alice", "none"}, {"nobody", string(first)}} {
		if _, found, err := s.Got(mailbox.AgentID(c.to), mailbox.ID(c.id)); found || err != nil {
			t.Errorf("message %s of %s: found %v, %v", c.id, c.to, found, err)
		}
	}
}

func TestATornLastLineIsCutKeptAsideAndSaid(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "go"))
	path := s.TranscriptPath("alice")
	must(t, s.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(whole, `{"type":"assis`...), 0o600))

	s = open(t, dir)
	notes := strings.Join(s.Notes(), "\n")
	if !strings.Contains(notes, "torn") || !strings.Contains(notes, filepath.Base(path)) {
		t.Errorf("nothing is said of the torn line: %q", notes)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	kept, err := os.ReadFile(path + ".torn")
	must(t, err)
	if string(after) != string(whole) || string(kept) != `{"type":"assis` {
		t.Errorf("file %q, aside %q", after, kept)
	}
	a, _ = s.Get("alice")
	must(t, a.Prompt("user", "again"))
	after, err = os.ReadFile(path)
	must(t, err)
	for i, line := range strings.Split(strings.TrimSpace(string(after)), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d is not JSON: %s", i+1, line)
		}
	}
	if n := strings.Count(string(after), `"subtype":"prompt"`); n != 2 {
		t.Errorf("the file tells of %d prompts, want 2:\n%s", n, after)
	}
}

func TestSetupKeepsItsFirstBytes(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a := born(t, s, "alice")
	build := func(text string) func() (system, tools []json.RawMessage) {
		return func() (system, tools []json.RawMessage) {
			return []json.RawMessage{model.EncodeSystem(text)}, []json.RawMessage{model.EncodeTool("Read", text, json.RawMessage(`{"type":"object"}`))}
		}
	}
	system, tools, err := a.Setup(build("<first> & only"))
	must(t, err)
	must(t, s.Close())
	again, _ := open(t, dir).Get("alice")
	system2, tools2, err := again.Setup(build("second"))
	must(t, err)
	if d := cmp.Diff([][]json.RawMessage{system, tools}, [][]json.RawMessage{system2, tools2}); d != "" {
		t.Error(d)
	}
}

// ready returns an agent whose newest answer calls Agent twice.
func ready(t testing.TB, s *transcript.Store, history int) *transcript.Transcript {
	t.Helper()
	a := born(t, s, "alice")
	_, _, err := a.Setup(func() (system, tools []json.RawMessage) {
		return []json.RawMessage{model.EncodeSystem("you are <alice> & co")}, []json.RawMessage{model.EncodeTool("Agent", "d", json.RawMessage(`{"type":"object"}`))}
	})
	must(t, err)
	must(t, a.Prompt("user", strings.Repeat("x", history)))
	_, _, err = a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("forking", "f1", "f2")))
	return a
}

func forkOf(t testing.TB, s *transcript.Store, a *transcript.Transcript, id mailbox.AgentID, directive string) *transcript.Transcript {
	t.Helper()
	f, err := s.CreateFork(a, agent.Spec{ID: id, Name: string(id), Parent: a.ID(), Born: time.Now().UTC()}, "same placeholder", directive)
	must(t, err)
	return f
}

func TestForksShareEveryByteUpToTheDirectiveAlsoAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a := ready(t, s, 1000)
	parent := raws(t, a)
	forks := []*transcript.Transcript{forkOf(t, s, a, "f1", "directive one"), forkOf(t, s, a, "f2", "directive two")}
	must(t, a.FinishCall("f1", transcript.CallResult{Text: "later"}, true))
	body := func(f *transcript.Transcript) string {
		msgs, _, err := f.Request(frame)
		must(t, err)
		system, tools, err := f.Setup(nil)
		must(t, err)
		return string((&model.Request{Model: "m", System: system, Tools: tools, Messages: msgs}).AppendBody(nil))
	}
	one, two := body(forks[0]), body(forks[1])
	cut := strings.Index(one, "directive one")
	if cut < 0 || one[:cut] != two[:cut] || !strings.HasPrefix(two[cut:], "directive two") {
		t.Errorf("siblings differ before the directive:\n%s\n%s", one, two)
	}
	for _, raw := range parent {
		if !strings.Contains(one, raw) {
			t.Errorf("the parent's message is not in the fork byte for byte: %s", raw)
		}
	}
	if n := strings.Count(one, "same placeholder"); n != 2 || strings.Contains(one, "later") {
		t.Errorf("%d of 2 calls have the placeholder in %s", n, one)
	}
	must(t, s.Close())
	s = open(t, dir)
	again, _ := s.Get("f1")
	if got := body(again); got != one {
		t.Errorf("after a restart the request is\n%s\nand was\n%s", got, one)
	}
	if _, err := s.CreateFork(again, agent.Spec{ID: "f3"}, "p", "d"); err == nil {
		t.Error("a fork was forked after a restart")
	}
}

// Forks that come back to memory share their beginning as they did at first.
func TestForksThatComeBackShareTheMemoryOfTheirBeginning(t *testing.T) {
	s := open(t, t.TempDir())
	a := ready(t, s, 1000)
	forks := []*transcript.Transcript{forkOf(t, s, a, "f1", "one"), forkOf(t, s, a, "f2", "two")}
	must(t, a.FinishCall("f1", transcript.CallResult{Text: "later"}, true))
	var begins []*byte
	for _, f := range append(forks, forks...) { // each forgets once while the other has it in memory
		f.Forget()
		msgs, err := f.Messages()
		must(t, err)
		begins = append(begins, &msgs[0].Raw()[0])
	}
	for i, at := range begins {
		if at != begins[0] {
			t.Errorf("load %d has a copy of its own", i)
		}
	}
}

// BenchmarkFork50 forks 50 agents from a history of 1 MB, and again when all
// have left memory. Limit: the heap grows by 2 MB for all of them.
func BenchmarkFork50(b *testing.B) {
	for b.Loop() {
		s := open(b, b.TempDir())
		a := ready(b, s, 1<<20)
		before := heap()
		var forks []*transcript.Transcript
		begun := time.Now()
		for i := range 50 {
			forks = append(forks, forkOf(b, s, a, mailbox.AgentID(fmt.Sprint("f", i)), "directive"))
		}
		b.ReportMetric(float64(time.Since(begun).Microseconds())/50, "µs/fork")
		grown := float64(heap()-before) / (1 << 20)
		b.ReportMetric(grown, "MiB")
		b.ReportMetric(grown/2, "x-2MB-limit")
		for _, f := range forks {
			f.Forget()
		}
		for _, f := range forks {
			_, err := f.Messages()
			must(b, err)
		}
		b.ReportMetric(float64(heap()-before)/(2<<20), "x-2MB-limit-again")
		if len(forks) != 50 {
			b.Fatal("forks were lost")
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestMailForAnotherIncarnationIsRefused(t *testing.T) {
	s, err := transcript.Open(t.Context(), t.TempDir(), "s", transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ben, _, err := s.Create(agent.Spec{ID: "ben", Name: "ben", Role: agent.Teammate, Born: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	mail := func(seq uint64, meant uint32) mailbox.Envelope {
		return mailbox.Envelope{
			ID: mailbox.ID(fmt.Sprint("m", seq, "-", meant)), From: mailbox.Address{Agent: "ann", Incarnation: 1},
			To: mailbox.Address{Agent: "ben", Incarnation: meant}, Seq: seq, Kind: mailbox.KindText, Sent: time.Now(), Body: "hello",
		}
	}
	for i, c := range []struct {
		e    mailbox.Envelope
		want mailbox.Verdict
	}{
		{mail(1, 1), mailbox.Fresh}, {mail(2, 2), mailbox.WrongIncarnation}, // of its first incarnation
		{mail(1, 1), mailbox.Duplicate}, {mail(2, 1), mailbox.WrongIncarnation}, {mail(2, 2), mailbox.Fresh}, {mail(3, 0), mailbox.Fresh}, // of its second
	} {
		if i == 0 || i == 2 {
			if _, err := ben.Wake(); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := s.Arrive(c.e, mailbox.Cursor{Stream: 1, Seq: uint64(i + 1)}); err != nil || a.Verdict != c.want {
			t.Errorf("%s: %s, %v; want %s", c.e.ID, a.Verdict, err, c.want)
		}
	}
	if unread := ben.Unread(); len(unread) != 3 {
		t.Errorf("ben has %v", unread)
	}
}
