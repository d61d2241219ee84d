package mailbox

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

const (
	alice AgentID = "alice"
	bob   AgentID = "bob"
)

func text(id ID, body string) Envelope {
	return Envelope{ID: id, From: Address{alice, 1}, To: Address{bob, 1}, Kind: KindText, Body: body}
}

// compose sends n messages m1, m2, … from alice to bob.
func compose(t *testing.T, l *Ledger, n int) []Envelope {
	t.Helper()
	var sent []Envelope
	for i := range n {
		e, err := l.Compose(text(ID(fmt.Sprintf("m%d", i+1)), "hi"), 0)
		if err != nil {
			t.Fatal(err)
		}
		l.Sent(e)
		sent = append(sent, e)
	}
	return sent
}

func bobs(s State, through uint64, ids ...ID) Receipt {
	return Receipt{From: Address{bob, 1}, To: Address{alice, 1}, State: s, Through: through, IDs: ids}
}

func stateOf(l *Ledger, id ID) State {
	s, _ := l.State(id)
	return s.State
}

func ids(list []Envelope) []ID {
	out := []ID{}
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

func TestComposeNumbersEachPairFromOneAndChangesNothing(t *testing.T) {
	l := NewLedger(alice)
	for range 2 {
		if e, err := l.Compose(text("", "hi"), 0); err != nil || e.Seq != 1 || !e.ID.Valid() {
			t.Fatalf("first Compose = %+v, %v", e, err)
		}
	}
	sent := compose(t, l, 3)
	other := text("o1", "hi")
	other.To.Agent = "carol"
	e, err := l.Compose(other, 0)
	if err != nil || e.Seq != 1 || sent[2].Seq != 3 {
		t.Errorf("to carol %d, third to bob %d, %v; want 1 and 3", e.Seq, sent[2].Seq, err)
	}
	if diff := cmp.Diff(sent, l.Outbox()); diff != "" {
		t.Errorf("outbox (-want +got):\n%s", diff)
	}
}

func TestComposeRefusesAnotherSender(t *testing.T) {
	if e, err := NewLedger(bob).Compose(text("", "hi"), 0); err == nil {
		t.Errorf("bob composed %+v", e)
	}
}

func TestFullErrorAtTheLimitAndForAFullReceiver(t *testing.T) {
	l := NewLedger(alice)
	compose(t, l, 3)
	var full *FullError
	if _, err := l.Compose(text("", "hi"), 3); !errors.As(err, &full) || full.Queued != 3 || full.To.Agent != bob {
		t.Fatalf("at the limit: %v", err)
	}
	l.Acknowledged(bobs(StateFull, 2))
	if _, err := l.Compose(text("", "hi"), 0); !errors.As(err, &full) || full.Queued != 1 {
		t.Fatalf("after the receiver reported full: %v", err)
	}
	l.Acknowledged(bobs(StateAccepted, 2))
	if _, err := l.Compose(text("", "hi"), 0); !errors.As(err, &full) {
		t.Fatalf("a call to go back ended full: %v", err)
	}
	l.Acknowledged(bobs(StateDelivered, 3))
	if _, err := l.Compose(text("", "hi"), 1); err != nil {
		t.Fatalf("after progress: %v", err)
	}
}

// With nothing pending no probe is sent, so the last receipt must not
// count for ever.
func TestFullReceiverIsProbed(t *testing.T) {
	l := NewLedger(alice)
	compose(t, l, 1)
	l.Acknowledged(bobs(StateFull, 1))
	compose(t, l, 1)
	l.Acknowledged(bobs(StateFull, 1))
	if _, err := l.Compose(text("", "hi"), 0); !errors.As(err, new(*FullError)) {
		t.Errorf("with one message waiting: %v, want *FullError", err)
	}
}

func TestStatesOnlyAdvance(t *testing.T) {
	l := NewLedger(alice)
	compose(t, l, 4)
	for _, step := range []struct {
		r       Receipt
		changed []ID
		m1, m2  State
	}{
		{bobs(StateDelivered, 1), []ID{"m1"}, StateDelivered, StateAccepted},
		{bobs(StateDelivered, 1), nil, StateDelivered, StateAccepted},
		{bobs(StateRead, 1, "m1"), []ID{"m1"}, StateRead, StateAccepted},
		{bobs(StateDelivered, 1, "m1"), nil, StateRead, StateAccepted},
		{bobs(StateRead, 0, "m2"), []ID{"m2"}, StateRead, StateRead}, // read implies delivered
		{bobs(StateAnswered, 2, "m1"), []ID{"m1"}, StateAnswered, StateRead},
		{bobs(StateDead, 2, "m1", "m2"), []ID{"m2"}, StateAnswered, StateDead},
		{bobs(StateRead, 2, "m1", "m2"), nil, StateAnswered, StateDead},
	} {
		if diff := cmp.Diff(step.changed, l.Acknowledged(step.r)); diff != "" {
			t.Errorf("%+v changed (-want +got):\n%s", step.r, diff)
		}
		if stateOf(l, "m1") != step.m1 || stateOf(l, "m2") != step.m2 {
			t.Errorf("after %+v: m1 %s, m2 %s", step.r, stateOf(l, "m1"), stateOf(l, "m2"))
		}
	}
	forged := bobs(StateDead, 9, "m3", "m1")
	forged.From.Agent = "mallory"
	if got := l.Acknowledged(forged); got != nil || stateOf(l, "m3") != StateAccepted {
		t.Errorf("another agent settled %v", got)
	}
}

func TestDeliberateGapDoesNotBlock(t *testing.T) {
	a, b := NewLedger(alice), NewLedger(bob)
	sent := compose(t, a, 4)
	b.Arrived(sent[0], Cursor{1, 1})
	dead := bobs(StateExpired, 1, "m2", "m3")
	dead.Reason = "an hour"
	a.Acknowledged(dead)
	if s, _ := a.State("m2"); s.State != StateExpired || s.Reason != "an hour" {
		t.Errorf("m2 is %+v", s)
	}
	out := a.Outbox()
	if diff := cmp.Diff([]ID{"m4"}, ids(out)); diff != "" {
		t.Fatalf("outbox (-want +got):\n%s", diff)
	}
	if v := b.Check(sent[3]); v != Gap {
		t.Errorf("m4 as it was sent is %s, want gap", v)
	}
	if v := b.Check(out[0]); v != Fresh {
		t.Fatalf("m4 with the hole declared is %s, want fresh", v)
	}
	b.Arrived(out[0], Cursor{1, 2})
	if v := b.Check(sent[1]); v != Duplicate {
		t.Errorf("m2 afterwards is %s, want duplicate", v)
	}
	a.Acknowledged(bobs(StateDead, 1, "m4"))
	next := compose(t, a, 1)[0]
	if v := b.Check(next); next.Seq != 5 || v != Fresh {
		t.Errorf("after everything was given up: seq %d, %s; want 5, fresh", next.Seq, v)
	}
}

func TestPastIncarnationIsRejected(t *testing.T) {
	l := NewLedger(bob)
	first, second := text("m1", "hi"), text("m2", "hi")
	first.Seq, second.Seq, second.From.Incarnation = 1, 2, 2
	l.Arrived(first, Cursor{})
	l.Arrived(second, Cursor{})
	late := text("m3", "hi")
	late.Seq = 3
	if v := l.Check(late); v != Stale {
		t.Errorf("a new message of incarnation 1 after 2 was seen: %s, want stale", v)
	}
	if v := l.Check(first); v != Duplicate {
		t.Errorf("a recorded message of incarnation 1: %s, want duplicate", v)
	}
}

func TestFastSenderBlocksOnlyItself(t *testing.T) {
	l := NewLedger(bob)
	l.SetUnreadLimit(2)
	for i := range uint64(2) {
		e := text(ID(fmt.Sprintf("m%d", i+1)), "hi")
		e.Seq = i + 1
		l.Arrived(e, Cursor{})
	}
	third, fourth := text("m3", "hi"), text("m4", "hi")
	third.Seq, fourth.Seq = 3, 4
	if l.Check(third) != Full || l.Check(fourth) != Full {
		t.Errorf("at the limit: %s and %s, want full for both", l.Check(third), l.Check(fourth))
	}
	carols := text("c1", "hi")
	carols.From.Agent, carols.Seq = "carol", 1
	if v := l.Check(carols); v != Fresh {
		t.Errorf("another sender: %s, want fresh", v)
	}
	l.Read("m1")
	if v := l.Check(third); v != Fresh {
		t.Errorf("after reading one: %s, want fresh", v)
	}
}

func TestReceiptBeyondTheJournalKeepsNumbersUnused(t *testing.T) {
	l := NewLedger(alice) // restored from an old copy
	compose(t, l, 1)
	l.Acknowledged(bobs(StateDelivered, 10))
	if e, err := l.Compose(text("", "hi"), 0); err != nil || e.Seq != 11 {
		t.Errorf("next number %d, %v; want 11", e.Seq, err)
	}
}

func TestStateForgetsAllButTheLastThousandSettled(t *testing.T) {
	l := NewLedger(alice)
	for i := range 1100 {
		e, err := l.Compose(text(ID(fmt.Sprintf("m%d", i)), "hi"), 0)
		if err != nil {
			t.Fatal(err)
		}
		l.Sent(e)
		l.Acknowledged(bobs(StateDelivered, e.Seq))
	}
	if _, ok := l.State("m99"); ok {
		t.Error("m99 is still known")
	}
	if stateOf(l, "m100") != StateDelivered {
		t.Error("m100 is forgotten")
	}
	if _, ok := l.State("never"); ok {
		t.Error("an unknown id has a state")
	}
}

func TestSnapshotRestoresTheWholeLedger(t *testing.T) {
	l := NewLedger(alice)
	compose(t, l, 5)
	l.Acknowledged(bobs(StateDelivered, 2))
	l.Acknowledged(bobs(StateRejected, 2, "m3"))
	l.Acknowledged(bobs(StateRead, 2, "m1"))
	l.Acknowledged(bobs(StateFull, 2))
	for i := range uint64(3) {
		e := text(ID(fmt.Sprintf("b%d", i+1)), "hi")
		e.From, e.To, e.Seq = Address{bob, 7}, Address{alice, 1}, i+1
		l.Arrived(e, Cursor{5, 6 + i})
	}
	l.Read("b2")
	data := l.AppendSnapshot(nil)
	got := NewLedger(alice)
	if err := got.Restore(data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l, got, cmp.AllowUnexported(Ledger{}, lane{}, mark{}, history{})); diff != "" {
		t.Errorf("(-was +restored):\n%s", diff)
	}
	if err := NewLedger(bob).Restore(data); err == nil {
		t.Error("bob's ledger took alice's snapshot")
	}
	for n := range data {
		if err := got.Restore(data[:n]); err == nil {
			t.Fatalf("a snapshot cut to %d of %d bytes was accepted", n, len(data))
		}
	}
	if diff := cmp.Diff(l, got, cmp.AllowUnexported(Ledger{}, lane{}, mark{}, history{})); diff != "" {
		t.Errorf("a refused snapshot changed the ledger:\n%s", diff)
	}
}

func TestEmptyLedgerIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Ledger{}); size > 200 {
		t.Errorf("%d bytes, want at most 200", size)
	}
	if n := testing.AllocsPerRun(100, func() { NewLedger(alice).Check(text("m1", "")) }); n > 1 {
		t.Errorf("%v allocations for an empty ledger", n)
	}
}
