package mailbox

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

const snapshotVersion = 1

// AppendSnapshot appends the whole ledger. Equal ledgers give equal bytes.
func (l *Ledger) AppendSnapshot(dst []byte) []byte {
	dst = appendText(append(dst, snapshotVersion), string(l.owner))
	dst = binary.AppendVarint(dst, l.cursor.Stream)
	dst = binary.AppendUvarint(dst, l.cursor.Seq)
	dst = binary.AppendUvarint(dst, uint64(len(l.out)))
	for _, to := range slices.Sorted(maps.Keys(l.out)) {
		dst = l.out[to].appendSnapshot(appendText(dst, string(to)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(l.in)))
	for _, from := range slices.Sorted(maps.Keys(l.in)) {
		m := l.in[from]
		dst = binary.AppendUvarint(appendText(dst, string(from)), m.seq)
		dst = binary.AppendUvarint(dst, uint64(m.incarnation))
	}
	return l.history.appendSnapshot(appendEnvelopes(dst, l.unread))
}

func (l *lane) appendSnapshot(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, l.last)
	dst = binary.AppendUvarint(dst, l.acked)
	dst = binary.AppendUvarint(dst, l.mark)
	if l.full {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	return appendEnvelopes(dst, l.pending)
}

func (s *history) appendSnapshot(dst []byte) []byte {
	if s == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.order)))
	for _, id := range s.order {
		status := s.byID[id]
		dst = appendAddress(appendText(dst, string(id)), status.To)
		dst = binary.AppendUvarint(dst, status.Seq)
		dst = appendText(appendText(dst, string(status.State)), status.Reason)
	}
	return dst
}

func appendEnvelopes(dst []byte, list []Envelope) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, e := range list {
		dst = e.AppendBinary(dst)
	}
	return dst
}

// Restore replaces the state by a snapshot of a ledger of the same owner; on an error
// the ledger does not change. It does not retain data.
func (l *Ledger) Restore(data []byte) error {
	r := reader{s: string(data)}
	r.version(snapshotVersion)
	restored := &Ledger{owner: AgentID(r.text()), limit: l.limit}
	if r.err == nil && restored.owner != l.owner {
		r.fail(fmt.Errorf("it belongs to %q", restored.owner))
	}
	restored.cursor = Cursor{Stream: r.varint(), Seq: r.uvarint()}
	restored.readPairs(&r)
	restored.unread = r.envelopes()
	for i := range restored.unread {
		m := restored.in[restored.unread[i].From.Agent]
		if m == nil {
			r.fail(errDamaged)
			break
		}
		m.unread++
	}
	restored.readHistory(&r)
	if err := r.end(); err != nil {
		return fmt.Errorf("mailbox: restore the ledger of %s: %w", l.owner, err)
	}
	*l = *restored
	return nil
}

func (l *Ledger) readPairs(r *reader) {
	if n := r.count(); n > 0 {
		l.out = make(map[AgentID]*lane)
		for range n {
			to := AgentID(r.text())
			l.out[to] = &lane{last: r.uvarint(), acked: r.uvarint(), mark: r.uvarint(), full: r.byte() == 1, pending: r.envelopes()}
		}
	}
	if n := r.count(); n > 0 {
		l.in = make(map[AgentID]*mark)
		for range n {
			from := AgentID(r.text())
			l.in[from] = &mark{seq: r.uvarint(), incarnation: uint32(r.uvarint())}
		}
	}
}

func (l *Ledger) readHistory(r *reader) {
	for range r.count() {
		id, to := ID(r.text()), r.address()
		e := Envelope{ID: id, To: to, Seq: r.uvarint()}
		state, reason := State(r.text()), r.text()
		if r.err != nil {
			return
		}
		l.ensureHistory().add(e, state, reason)
		l.history.byID[id] = Status{To: to, Seq: e.Seq, State: state, Reason: reason}
	}
}

func (r *reader) envelopes() []Envelope {
	var list []Envelope
	for range r.count() {
		list = append(list, r.envelope())
		if r.err != nil {
			return nil
		}
	}
	return list
}
