package transcript_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/google/go-cmp/cmp"
)

// walk gives an agent n steps with one call each; the last one's result waits.
func walk(t testing.TB, a *transcript.Transcript, n int) {
	t.Helper()
	for i := range n {
		_, _, err := a.Request(frame)
		must(t, err)
		call := fmt.Sprintf("%s-%d", a.ID(), i)
		must(t, a.Answer(answer(fmt.Sprint("step ", i), call)))
		must(t, a.FinishCall(call, transcript.CallResult{Text: fmt.Sprint("result ", i)}, false))
	}
}

func inShort(keep int) transcript.Compaction {
	return transcript.Compaction{
		Keep: keep, Summary: []model.Block{model.Text("what was done")}, Tokens: 900, Trigger: transcript.Auto,
		Usage: model.Usage{OutputTokens: 5},
	}
}

func TestACompactionKeepsTheRecordAndTheTail(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "the task"))
	walk(t, a, 5)
	before, rec := raws(t, a), a.Record()
	must(t, a.Compact(inShort(3)))
	after := raws(t, a)
	if len(after) != 4 || !strings.Contains(after[0], "what was done") {
		t.Fatalf("the conversation is now %v", after)
	}
	if d := cmp.Diff(before[len(before)-3:], after[1:]); d != "" {
		t.Errorf("what was kept has changed: %s", d)
	}
	if got := a.Record(); got.Usage.OutputTokens != rec.Usage.OutputTokens+5 || got.Compactions != 1 || got.Steps != rec.Steps {
		t.Errorf("the record is %+v", got)
	}
	d, err := a.Draft()
	must(t, err)
	if !d.Fresh || d.Counted.Messages != 0 || d.Counted.Tokens != 5 || len(d.Waiting) != 1 {
		t.Errorf("the draft after a compaction is %+v", d)
	}
	msgs, _, err := a.Request(frame)
	must(t, err)
	if got := string(msgs[len(msgs)-1].Raw()); !strings.Contains(got, "result 4") {
		t.Errorf("the waiting result is lost: %s", got)
	}
	must(t, s.Close())
	file, err := os.ReadFile(s.TranscriptPath("alice"))
	must(t, err)
	for _, want := range []string{"the task", "result 0", "result 4", `"subtype":"compact_boundary"`, "what was done", `"trigger":"auto"`} {
		if !strings.Contains(string(file), want) {
			t.Errorf("the file of the transcript does not have %q", want)
		}
	}
	again, _ := open(t, dir).Get("alice")
	if d := cmp.Diff(after, raws(t, again)[:4]); d != "" {
		t.Errorf("after a restart the conversation differs: %s", d)
	}
}

func TestACompactionThatWouldPartACallFromItsResultIsRefused(t *testing.T) {
	a := born(t, open(t, t.TempDir()), "alice")
	must(t, a.Prompt("user", "the task"))
	walk(t, a, 3)
	before := raws(t, a)
	for _, keep := range []int{-1, 0, 2, 4, 6, 9} {
		if err := a.Compact(inShort(keep)); err == nil {
			t.Errorf("a compaction that keeps %d of %d messages was taken", keep, len(before))
		}
	}
	if d := cmp.Diff(before, raws(t, a)); d != "" {
		t.Errorf("a refused compaction has changed something: %s", d)
	}
}

func TestACompactionOfAForkLeavesItsPrefix(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "history"))
	_, _, err := a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("both", "c1", "c2")))
	one, two := forkOf(t, s, a, "one", "do one"), forkOf(t, s, a, "two", "do two")
	for _, f := range []*transcript.Transcript{one, two} {
		walk(t, f, 4)
	}
	before, sibling := raws(t, one), raws(t, two)
	must(t, one.Compact(inShort(1)))
	must(t, a.FinishCall("c1", transcript.CallResult{Text: "r"}, false))
	must(t, a.FinishCall("c2", transcript.CallResult{Text: "r"}, false))
	walk(t, a, 1)
	must(t, a.Compact(inShort(1)))
	check := func(one, two *transcript.Transcript) {
		t.Helper()
		got := raws(t, one)
		if d := cmp.Diff(before[:3], got[:3]); d != "" {
			t.Errorf("the prefix has changed: %s", d)
		}
		if len(got) != 5 || !strings.Contains(got[3], "what was done") || got[4] != before[len(before)-1] {
			t.Errorf("the fork goes on with %v", got[3:])
		}
		if d := cmp.Diff(sibling, raws(t, two)); d != "" {
			t.Errorf("the sibling has changed: %s", d)
		}
	}
	check(one, two)
	must(t, s.Close())
	s = open(t, dir)
	one, _ = s.Get("one")
	two, _ = s.Get("two")
	check(one, two)
	if err := one.Compact(inShort(2)); err == nil {
		t.Error("a fork has compacted into its prefix")
	}
}

func TestACrashAroundACompactionLeavesTheOldConversationOrTheNew(t *testing.T) {
	for _, durable := range []bool{false, true} {
		disk := journaltest.New()
		o := transcript.Options{Journal: journal.Options{FS: disk}, NoLines: true}
		dir := t.TempDir()
		s, err := transcript.Open(t.Context(), dir, "session", o)
		must(t, err)
		a := born(t, s, "alice")
		must(t, a.Prompt("user", "the task"))
		walk(t, a, 3)
		must(t, s.Sync())
		want := raws(t, a)
		if durable {
			must(t, a.Compact(inShort(1)))
			want = raws(t, a)
		} else {
			disk.FailSync(1)
			if err := a.Compact(inShort(1)); err == nil {
				t.Error("a compaction that is not on disk was reported as made")
			}
		}
		disk.Crash(journaltest.LoseUnsynced, nil)
		if err := s.Close(); err != nil {
			t.Log("after the crash:", err)
		}
		again, err := transcript.Open(t.Context(), dir, "session", o)
		must(t, err)
		b, _ := again.Get("alice")
		got := raws(t, b)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("durable %v: after the crash the conversation differs: %s", durable, d)
		}
		must(t, again.Close())
	}
}

func TestWhatWasShortenedInARequestKeepsItsBytes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	a := born(t, s, "alice")
	must(t, a.Prompt("user", "the task"))
	_, _, err := a.Request(frame)
	must(t, err)
	must(t, a.Answer(answer("two calls", "c1", "c2")))
	must(t, a.FinishCall("c1", transcript.CallResult{Text: "short"}, false))
	must(t, a.FinishCall("c2", transcript.CallResult{Text: strings.Repeat("long ", 1000)}, false))
	arrive(t, s, 1, "first")
	arrive(t, s, 2, "second")
	d, err := a.Draft()
	must(t, err)
	in := transcript.Intake{
		Waiting: len(d.Waiting), Short: map[int]model.Block{1: model.ToolResult("c2", "long, in short", false)},
		Mail: []mailbox.ID{d.Mail[0].ID}, Blocks: []model.Block{model.Text("mail")},
	}
	must(t, a.Prompt("user", "one more"))
	if _, err := a.Admit(in); !errors.Is(err, transcript.ErrChanged) {
		t.Fatalf("a draft that is out of date gives %v", err)
	}
	in.Waiting++
	msgs, err := a.Admit(in)
	must(t, err)
	got := string(msgs[len(msgs)-1].Raw())
	if strings.Contains(got, "long long") || !strings.Contains(got, "long, in short") || !strings.Contains(got, "one more") || !strings.Contains(got, "mail") {
		t.Errorf("the request carries %s", got)
	}
	if left := a.Unread(); len(left) != 1 || left[0].Body != "second" {
		t.Errorf("unread are %v", left)
	}
	before := raws(t, a)
	must(t, s.Close())
	file, err := os.ReadFile(s.TranscriptPath("alice"))
	must(t, err)
	if !strings.Contains(string(file), strings.Repeat("long ", 1000)) {
		t.Error("the whole of the result is not in the file of the transcript")
	}
	again, _ := open(t, dir).Get("alice")
	if d := cmp.Diff(before, raws(t, again)); d != "" {
		t.Errorf("after a restart the conversation differs: %s", d)
	}
	if left := again.Unread(); len(left) != 1 {
		t.Errorf("after a restart unread are %v", left)
	}
}
