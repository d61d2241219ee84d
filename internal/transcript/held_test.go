package transcript_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// A held message is decided once and replays, and the record of decided ones is bounded.
func TestALetterIsDecidedOnceAndFoldsAgain(t *testing.T) {
	dir := t.TempDir()
	s, err := transcript.Open(t.Context(), dir, "session", transcript.Options{})
	must(t, err)
	a := born(t, s, "ann")
	long := strings.Repeat("long ", transcript.MaxInline)
	held, err := a.Held().Add(transcript.HeldMessage{ID: "m1", From: "lead", Body: long, Consent: transcript.Consent{Expires: time.Now().Add(time.Hour)}})
	must(t, err)
	if held.State != transcript.ConsentAsked || held.Ref == "" || len(held.Body) > transcript.MaxInline {
		t.Errorf("held is %+v", held)
	}
	if again, err := a.Held().Add(transcript.HeldMessage{ID: "m1", Body: "another"}); err != nil || again.Ref != held.Ref {
		t.Errorf("held again it is %+v, %v", again, err)
	}
	const decided = 120
	for i := range decided {
		id := mailbox.ID(fmt.Sprint("n", i))
		_, err := a.Held().Add(transcript.HeldMessage{ID: id, Body: "short"})
		must(t, err)
		must(t, a.Held().Decide(id, transcript.Consent{State: transcript.ConsentDenied, By: "user", Note: "no"}))
		if err := a.Held().Decide(id, transcript.Consent{State: transcript.ConsentAllowed}); !errors.Is(err, transcript.ErrDecided) {
			t.Fatalf("a second decision: %v", err)
		}
	}
	if err := a.Held().Decide("never", transcript.Consent{State: transcript.ConsentAllowed}); !errors.Is(err, transcript.ErrDecided) {
		t.Errorf("about a letter that never came: %v", err)
	}
	before := a.Held().All()
	if len(before) != 101 {
		t.Errorf("%d letters are remembered", len(before))
	}
	if _, there := a.Held().Get("n19"); there {
		t.Error("the oldest that was decided is remembered")
	}
	if l, there := a.Held().Get("n119"); !there || l.State != transcript.ConsentDenied || l.Note != "no" || l.Body != "" {
		t.Errorf("the newest is %+v", l)
	}
	must(t, s.Close())
	s = open(t, dir)
	b, _ := s.Get("ann")
	for i, l := range b.Held().All() {
		if was := before[i]; l.ID != was.ID || l.State != was.State || !l.Asked.Equal(was.Asked) || !l.Expires.Equal(was.Expires) || !reflect.DeepEqual(l.Ref, was.Ref) {
			t.Errorf("after a restart %+v, before %+v", l, was)
		}
	}
	l, _ := b.Held().Get("m1")
	if body, err := s.HeldBody(l); err != nil || body != long {
		t.Errorf("its body has %d bytes, %v", len(body), err)
	}
}
