package transcript_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// What the user and the task say is known apart from what others write, also after a
// restart.
func TestWhatTheUserSaidIsKnownAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a, user, eve := calling(t, s), born(t, s, agent.UserID), born(t, s, "eve")
	must(t, a.Prompt("parent", "the task"))
	must(t, a.Prompt("hook", "of a hook"))
	for _, from := range []*transcript.Transcript{user, eve} {
		e, durable, err := from.Send(mailbox.Envelope{To: mailbox.Address{Agent: a.ID()}, Kind: mailbox.KindText, Body: "mail of " + string(from.ID())})
		must(t, err)
		must(t, durable())
		_, err = s.Arrive(e, mailbox.Cursor{})
		must(t, err)
	}
	must(t, a.Judging().Judged(transcript.Judgement{Call: "a", Model: "m", Verdict: agent.Denied, Reason: "r", Case: []byte(`{"x":1}`)}))
	must(t, a.Judging().Judged(transcript.Judgement{Model: "m", Verdict: agent.Denied, Reason: "of a report"}))
	want, err := a.Judging().Said()
	must(t, err)
	if !slices.Equal(want, []transcript.Said{{User: true, Text: "go"}, {Text: "the task"}, {User: true, Text: "mail of user"}}) {
		t.Errorf("before the restart %+v", want)
	}
	if got := a.Record().Judged; got != (agent.Judged{Denied: 1, Row: 1}) {
		t.Errorf("the verdicts are %+v", got)
	}
	must(t, s.Close())
	b, ok := open(t, dir).Get("ann")
	if !ok {
		t.Fatal("ann is gone")
	}
	got, err := b.Judging().Said()
	must(t, err)
	if !slices.Equal(got, want) || b.Record().Judged != (agent.Judged{Denied: 1, Row: 1}) {
		t.Errorf("after a restart %+v, %+v; before %+v", got, b.Record().Judged, want)
	}
	must(t, b.Consents().Decide("a", transcript.Consent{State: transcript.ConsentAllowed, By: "user"}))
	if row := b.Record().Judged.Row; row != 0 {
		t.Errorf("after a call was allowed there are %d denials in a row", row)
	}
	raw, err := os.ReadFile(dir + "/transcripts/ann.jsonl")
	must(t, err)
	if !strings.Contains(string(raw), `"subtype":"judged"`) || !strings.Contains(string(raw), `"message":{"x":1}`) {
		t.Errorf("the lines do not show the judgement:\n%s", raw)
	}
}
