package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// finalize ends on record what is left of an agent without a process and of those below
// it. If its end is final, nobody will read their mail, and the senders are told.
func (f *Fleet) finalize(ctx context.Context, id mailbox.AgentID, cause error, final bool) (err error) {
	if !archive.HasJournal(f.o.dir(id)) {
		return nil // it never began
	}
	r, closeRecord, err := archive.OpenHost(ctx, f.o.Record.Get(), id, f.o.archive())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRecord()) }()
	if err := errors.Join(r.Cut(cause), r.End(ctx, id, cause)); err != nil {
		return err
	}
	if final {
		if err := f.sendPending(r.Store); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastNested[id] = r.Nested(id)
	if final {
		for _, t := range r.Local() {
			f.tombstones[t.ID()] = true
			r.Agents.RejectUnread(t.ID())
		}
	}
	return nil
}

// sendPending sends what was accepted on a record and is not known to have arrived: no process
// of its own will. What is sent twice arrives once.
func (f *Fleet) sendPending(store *transcript.Store) error {
	pending := store.Pending()
	for _, e := range pending {
		if e.Ref == "" || f.o.Store.HasBody(e.Ref) {
			continue
		}
		body, err := store.Object(e.Ref)
		if err == nil {
			err = f.o.Store.PutBody(body)
		}
		if err != nil {
			return fmt.Errorf("send the whole of message %s, which the process of its sender has left: %w", e.ID, err)
		}
	}
	if c := f.parts.Bus.Courier(); c != nil {
		c.Adopt(pending)
	}
	return nil
}

// IsGone reports an agent below one that has ended for good. One that has ended under
// an earlier owner is known as such a moment after the first question.
func (f *Fleet) IsGone(id mailbox.AgentID) bool {
	f.loadTombstones()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tombstones[id]
}

// loadTombstones looks into the record of each agent that has ended for good, once.
func (f *Fleet) loadTombstones() {
	for _, host := range f.Directory().final() {
		f.mu.Lock()
		known := f.tombstones[host]
		f.tombstones[host] = true
		f.mu.Unlock()
		if !known {
			f.run(func() { f.addTombstones(host) })
		}
	}
}

func (f *Fleet) addTombstones(host mailbox.AgentID) {
	nested := f.Nested(host)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range nested {
		f.tombstones[s.Life.Spec.ID] = true
	}
}
