package protocol_test

import (
	"errors"
	"testing"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func shutdownEvent(t *rapid.T, now time.Time) protocol.ShutdownEvent {
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
	switch rapid.IntRange(0, 4).Draw(t, "event") {
	case 0:
		return protocol.Ask{ID: id, By: "lead", Now: now, Grace: time.Duration(rapid.IntRange(0, 9).Draw(t, "grace")) * time.Second}
	case 1:
		return protocol.Respond{ID: id, Approve: rapid.Bool().Draw(t, "approve"), Reason: "busy", Key: rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key")}
	case 2:
		return protocol.Finish{}
	case 3:
		return protocol.Expire{Now: now}
	}
	return protocol.Gone{}
}

func TestAShutdownAlwaysEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now, objections := protocol.Shutdown{}, start, 0
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pass")) * time.Second)
			was := s
			e := shutdownEvent(t, now)
			next, effect, err := s.Next(e)
			if err != nil && next != was {
				t.Fatalf("a refused event moved %+v to %+v", was, next)
			}
			if was.Leaving() && !next.Leaving() {
				t.Fatalf("a member that leaves came back: %+v", next)
			}
			if effect == protocol.Object && was.Phase != protocol.ShutdownObjected {
				objections++
			}
			if (effect == protocol.CarryOut) != (next.Phase == protocol.ShutdownEnding && was.Phase != protocol.ShutdownEnding) {
				t.Fatalf("%+v with effect %v", next, effect)
			}
			s = next
		}
		if objections > 1 {
			t.Fatalf("it objected %d times", objections)
		}
		// Whatever came before: two requests and their deadlines end it.
		for i := range 2 {
			s, _, _ = s.Next(protocol.Ask{ID: "last" + string(rune('0'+i)), Now: now, Grace: time.Hour})
			if i == 0 {
				s, _, _ = s.Next(protocol.Respond{ID: s.ID, Reason: "no", Key: "last"})
			}
		}
		if s, _, err := s.Next(protocol.Respond{ID: s.ID, Reason: "no", Key: "again"}); !s.Leaving() && err == nil {
			t.Fatalf("it refused twice: %+v", s)
		}
		if s, _, _ = s.Next(protocol.Expire{Now: now.Add(time.Hour)}); !s.Leaving() {
			t.Fatalf("it does not leave: %+v", s)
		}
		if s, _, _ = s.Next(protocol.Gone{}); s.Phase != protocol.ShutdownGone {
			t.Fatalf("it is not gone: %+v", s)
		}
	})
}

func TestAResponseNeedsTheRequestItAnswers(t *testing.T) {
	s, _, _ := protocol.Shutdown{}.Next(protocol.Ask{ID: "r1", Now: start, Grace: time.Second})
	for _, c := range []struct {
		of   protocol.Shutdown
		e    protocol.Respond
		want error
	}{
		{protocol.Shutdown{}, protocol.Respond{ID: "r1"}, protocol.ErrNoRequest},
		{s, protocol.Respond{ID: "r2", Approve: true}, protocol.ErrWrongID},
		{after(t, s, protocol.Respond{ID: "r1", Key: "1"}), protocol.Respond{ID: "r1", Approve: true, Key: "2"}, protocol.ErrLate},
		{after(t, s, protocol.Respond{ID: "r1", Key: "1"}, protocol.Ask{ID: "r2", Now: start, Grace: 1}), protocol.Respond{ID: "r2"}, protocol.ErrNotRefusable},
	} {
		if next, _, err := c.of.Next(c.e); !errors.Is(err, c.want) || next != c.of {
			t.Errorf("%+v to %+v: %v", c.e, c.of, err)
		}
	}
}

func after(t *testing.T, s protocol.Shutdown, events ...protocol.ShutdownEvent) protocol.Shutdown {
	t.Helper()
	for _, e := range events {
		next, _, err := s.Next(e)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}

func planEvent(t *rapid.T) protocol.PlanEvent {
	id := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id")
	switch rapid.IntRange(0, 4).Draw(t, "event") {
	case 0:
		return protocol.Enter{}
	case 1:
		return protocol.Submit{ID: id, Call: id, Lead: "lead", Text: "the plan"}
	case 2:
		return protocol.Withdraw{ID: id}
	}
	from := rapid.SampledFrom([]mailbox.AgentID{"lead", "user", "peer"}).Draw(t, "from")
	return protocol.Decide{
		ID: id, From: from, User: from == "user", Approve: rapid.Bool().Draw(t, "approve"), Feedback: "f", Mode: "default",
		Key: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "key"),
	}
}

func TestOneAuthorisedDecisionOpensTheGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _, _ := protocol.Plan{}.Next(protocol.Enter{})
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			e := planEvent(t)
			next, effect, err := p.Next(e)
			if err != nil && next != p {
				t.Fatalf("a refused event moved %+v to %+v", p, next)
			}
			if p.Gates() && !next.Gates() {
				d, ok := e.(protocol.Decide)
				if !ok || !d.Approve || d.From == "peer" || d.ID != p.ID || p.Phase != protocol.PlanPending || effect != protocol.ShowDecision {
					t.Fatalf("%+v opened the gate of %+v", e, p)
				}
			}
			p = next
		}
	})
}

func TestRepeatedEventsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := protocol.Plan{Phase: protocol.PlanDrafting}, protocol.Shutdown{}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			e := planEvent(t)
			if d, ok := e.(protocol.Decide); ok && d.Key == "" {
				continue // without a key each is its own
			}
			once, _, err := p.Next(e)
			if twice, _, err2 := once.Next(e); err == nil && (err2 != nil || twice != once) {
				t.Fatalf("%+v twice: %+v, %v", e, twice, err2)
			}
			p = once
			f := shutdownEvent(t, start)
			o, _, err := s.Next(f)
			if w, _, err2 := o.Next(f); err == nil && (err2 != nil || w != o) {
				t.Fatalf("%+v twice: %+v, %v", f, w, err2)
			}
			s = o
		}
	})
}

func TestWhyADecisionIsRefused(t *testing.T) {
	drafting, _, _ := protocol.Plan{}.Next(protocol.Enter{})
	pending, _, err := drafting.Next(protocol.Submit{ID: "r1", Call: "c1", Lead: "lead", Text: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	decided, _, err := pending.Next(protocol.Decide{ID: "r1", From: "lead", Feedback: "no", Key: "k"})
	if err != nil || decided.Phase != protocol.PlanDrafting || decided.Feedback != "no" {
		t.Fatalf("%+v, %v", decided, err)
	}
	for _, c := range []struct {
		of   protocol.Plan
		e    protocol.Decide
		want error
	}{
		{drafting, protocol.Decide{ID: "r1", From: "lead", Approve: true}, protocol.ErrNoRequest},
		{pending, protocol.Decide{ID: "r1", From: "peer", Approve: true}, protocol.ErrUnauthorized},
		{pending, protocol.Decide{ID: "r0", From: "lead", Approve: true}, protocol.ErrWrongID},
		{decided, protocol.Decide{ID: "r1", From: "lead", Approve: true, Key: "k2"}, protocol.ErrLate},
	} {
		if next, _, err := c.of.Next(c.e); !errors.Is(err, c.want) || next != c.of {
			t.Errorf("%+v to %+v: %v", c.e, c.of, err)
		}
	}
	if _, _, err := (protocol.Plan{}).Next(protocol.Submit{ID: "r1"}); !errors.Is(err, protocol.ErrNotPlanning) {
		t.Errorf("a plan outside plan mode: %v", err)
	}
}
