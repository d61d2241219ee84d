package transcript_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
)

// calling is an agent whose newest answer makes the calls a and b.
func calling(t *testing.T, s *transcript.Store) *transcript.Transcript {
	t.Helper()
	a := born(t, s, "ann")
	must(t, a.Prompt("user", "go"))
	_, _, err := a.Request(frame)
	must(t, err)
	msg, err := model.MessageFromRaw([]byte(`{"role":"assistant","content":[` +
		`{"type":"tool_use","id":"a","name":"Bash","input":{}},{"type":"tool_use","id":"b","name":"Bash","input":{}}]}`))
	must(t, err)
	must(t, a.Answer(&model.Answer{ID: "1", Message: msg}))
	return a
}

func TestConsentIsRecordedOnceAndFoldsAgain(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a := calling(t, s)
	asked, err := a.Consents().Ask("a", time.Hour)
	must(t, err)
	if asked.State != transcript.ConsentAsked || asked.Expires.Sub(asked.Asked) != time.Hour {
		t.Errorf("asked is %+v", asked)
	}
	decided := transcript.Consent{State: transcript.ConsentAllowed, By: "user", Note: "line\nbreak", Answer: json.RawMessage(`{"text":"x"}`)}
	must(t, a.Consents().Decide("a", decided))
	if err := a.Consents().Decide("a", transcript.Consent{State: transcript.ConsentDenied}); !errors.Is(err, transcript.ErrDecided) {
		t.Errorf("a second decision: %v", err)
	}
	if err := a.Consents().Decide("forged", decided); err == nil {
		t.Error("a decision about no call counted")
	}
	must(t, a.FinishCall("b", transcript.CallResult{Text: "done"}, true))
	if err := a.Consents().Decide("b", decided); err == nil {
		t.Error("a decision about a finished call counted")
	}
	before, err := a.Consents().Of("a")
	must(t, err)
	must(t, s.Close())

	b, ok := open(t, dir).Get("ann")
	if !ok {
		t.Fatal("ann is gone")
	}
	after, err := b.Consents().Of("a")
	must(t, err)
	if !after.Asked.Equal(before.Asked) || !after.Expires.Equal(before.Expires) || after.By != "user" || after.Note != decided.Note || string(after.Answer) != string(decided.Answer) || !after.Decided() {
		t.Errorf("after a restart %+v, before %+v", after, before)
	}
	if again, err := b.Consents().Ask("a", time.Minute); err != nil || !again.Asked.Equal(before.Asked) {
		t.Errorf("asked again it is %+v, %v", again, err)
	}
}
