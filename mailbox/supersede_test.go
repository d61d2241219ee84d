package mailbox

import (
	"slices"
	"testing"
)

func TestStaleUpdateIsReplaced(t *testing.T) {
	l := NewLedger("ben")
	message := func(seq uint64, from AgentID, id ID, key string, k Kind) Envelope {
		return Envelope{ID: id, From: Address{from, 1}, To: Address{Agent: "ben"}, Seq: seq, Kind: k, Key: key}
	}
	first := message(1, "ann", "a1", "status", KindText)
	l.Arrived(first, Cursor{Seq: 1})
	l.Arrived(message(1, "cat", "c1", "status", KindText), Cursor{Seq: 2})
	l.Arrived(message(2, "ann", "a2", "", KindText), Cursor{Seq: 3})
	l.Arrived(message(3, "ann", "a3", "status", KindIdle), Cursor{Seq: 4})
	last := message(4, "ann", "a4", "status", KindText)
	if stale := l.Superseded(last); !slices.Equal(stale, []ID{"a1"}) {
		t.Errorf("superseded: %v", stale)
	}
	l.Arrived(last, Cursor{Seq: 5})
	var ids []ID
	for _, e := range l.Unread() {
		ids = append(ids, e.ID)
	}
	if want := []ID{"c1", "a2", "a3", "a4"}; !slices.Equal(ids, want) {
		t.Errorf("unread are %v, want %v", ids, want)
	}
	if l.Check(first) != Duplicate {
		t.Error("what was superseded is taken again")
	}
	restored := NewLedger("ben")
	if err := restored.Restore(l.AppendSnapshot(nil)); err != nil || len(restored.Unread()) != 4 {
		t.Errorf("the snapshot: %v, %v", restored.Unread(), err)
	}
	arrived := arrival{id: "a4", from: last.From, to: last.To, Arrival: Arrival{Through: 4, Superseded: []ID{"a1"}}}
	sent := lastReceipts([]arrival{arrived})
	if len(sent) != 2 || sent[0].State != StateExpired || !slices.Equal(sent[0].IDs, []ID{"a1"}) || sent[1].Through != 4 {
		t.Errorf("the sender gets %+v", sent)
	}
}
