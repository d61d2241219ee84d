package transcript

import (
	"errors"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// TestAShadowFollowsWhatIsReported also holds across a restart.
func TestAShadowFollowsWhatIsReported(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, "s", Options{})
	if err != nil {
		t.Fatal(err)
	}
	sh, wait, err := s.Create(agent.Spec{ID: "ben", Name: "ben", Role: agent.Teammate, Where: agent.InProcess, Mode: "plan", Born: time.Now()})
	if err == nil {
		err = wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Arrive(mailbox.Envelope{ID: "m", To: mailbox.Address{Agent: "ben"}, From: mailbox.Address{Agent: "ann"}, Seq: 1}, mailbox.Cursor{Stream: 1, Seq: 1}); !errors.Is(err, mailbox.ErrNotLocal) {
		t.Errorf("mail arrived at a shadow: %v", err)
	}
	if n, err := sh.Launch(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	told := agent.Record{Spec: agent.Spec{ID: "ben", Mode: "bypassPermissions"}, Incarnation: 3, Turns: 2, Result: "done", Outcome: agent.Completed, Active: time.Now()}
	if _, _, err := sh.Update(told); err != nil {
		t.Fatal(err)
	}
	if n, err := sh.Launch(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	late := told
	late.Result, late.Launch = "late", 1
	if _, _, err := sh.Update(late); err != nil || sh.Record().Result != "done" {
		t.Errorf("what a superseded launch says was taken: %v", err)
	}
	if err := errors.Join(s.Sync(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), dir, "s", Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sh, _ = s.Get("ben")
	l := sh.Record()
	if l.Result != "done" || l.Incarnation != 3 || l.Launch != 2 || l.Spec.Mode != "plan" || l.Spec.Where != agent.InProcess {
		t.Errorf("the shadow is %+v", l)
	}
	if err := sh.Close("stopped by the user", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sh.Update(told); err != nil || !sh.Record().Closed {
		t.Errorf("a late report undid an end: %v", err)
	}
}
