package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// finalize ends, on its record, an agent without a process and those below it. If its
// end is final, nobody will read their mail, and the senders are notified.
func (f *Fleet) finalize(ctx context.Context, id mailbox.AgentID, cause error, final bool) (err error) {
	if !archive.HasJournal(f.options.dir(id)) {
		return nil // it never started
	}
	r, closeRecord, err := archive.OpenHost(ctx, f.options.Record.Get(), id, f.options.archive())
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

// sendPending sends the messages of a record that are not known to have arrived,
// because no process of the agent will. Receivers drop duplicates.
func (f *Fleet) sendPending(store *transcript.Store) error {
	pending := store.Pending()
	for _, e := range pending {
		if e.Ref == "" || f.options.Store.HasBody(e.Ref) {
			continue
		}
		body, err := store.Object(e.Ref)
		if err == nil {
			err = f.options.Store.PutBody(body)
		}
		if err != nil {
			return fmt.Errorf("send the text of message %s, whose sender has ended: %w", e.ID, err)
		}
	}
	if c := f.parts.Bus.Courier(); c != nil {
		c.Adopt(pending)
	}
	return nil
}

// IsGone reports whether an agent has ended for good with an agent above it. For one
// that has ended under an earlier owner, the first calls may return false while its
// record is read.
func (f *Fleet) IsGone(id mailbox.AgentID) bool {
	f.loadTombstones()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tombstones[id]
}

// loadTombstones starts to read the record of each agent that has ended for good, once.
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
		f.tombstones[s.Record.Spec.ID] = true
	}
}
