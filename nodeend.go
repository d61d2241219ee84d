package swarm

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// conclude ends on record what is left of an agent without a process and of those below
// it. If its end is final, nobody will read their mail, and the senders are told.
func (n *nodes) conclude(ctx context.Context, id mailbox.AgentID, cause error, final bool) (err error) {
	if !archive.HasJournal(n.dir(id)) {
		return nil // it never began
	}
	r, closeRecord, err := archive.OpenHost(ctx, n.o.Record.Get(), id, n.archive())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRecord()) }()
	if err := errors.Join(r.Cut(cause), r.End(ctx, id, cause)); err != nil {
		return err
	}
	if final {
		if err := n.ship(r.Store); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.staffs[id] = r.Nested(id)
	if final {
		for _, t := range r.Local() {
			n.buried[t.ID()] = true
			r.Agents.RejectUnread(t.ID())
		}
	}
	return nil
}

// ship sends what was accepted on a record and is not known to have arrived: no process
// of its own will. What is sent twice arrives once.
func (n *nodes) ship(store *transcript.Store) error {
	pending := store.Pending()
	for _, e := range pending {
		if e.Ref == "" || n.o.Store.HasBody(e.Ref) {
			continue
		}
		body, err := store.Object(e.Ref)
		if err == nil {
			err = n.o.Store.KeepBody(body)
		}
		if err != nil {
			return fmt.Errorf("send the whole of message %s, which the process of its sender has left: %w", e.ID, err)
		}
	}
	if c := n.c.Bus.Courier(); c != nil {
		c.Adopt(pending)
	}
	return nil
}

// isGone reports an agent below one that has ended for good. One that has ended under
// an earlier owner is known as such a moment after the first question.
func (n *nodes) isGone(id mailbox.AgentID) bool {
	n.exhume()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buried[id]
}

// exhume looks into the record of each agent that has ended for good, once.
func (n *nodes) exhume() {
	for _, host := range n.final() {
		n.mu.Lock()
		known := n.buried[host]
		n.buried[host] = true
		n.mu.Unlock()
		if !known {
			n.begun(func() { n.recall(host) })
		}
	}
}

func (n *nodes) recall(host mailbox.AgentID) {
	staff := n.Nested(host)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range staff {
		n.buried[s.Life.Spec.ID] = true
	}
}
