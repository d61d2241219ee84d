package swarm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// end ends an agent that keeps its own record and all others in its process.
func (r record) end(ctx context.Context, host mailbox.AgentID, cause error) error {
	_, err := r.agents.StopTree(ctx, host, cause)
	for _, s := range r.staff(host) { // also those that work for somebody elsewhere
		if !s.Life.Closed || errors.Is(cause, turn.ErrKilled) {
			err = errors.Join(err, r.agents.Stop(ctx, s.Life.Spec.ID, cause))
		}
	}
	return err
}

// hosted are the agents that have their record here.
func (r record) hosted() (all []*transcript.Transcript) {
	for _, t := range r.store.All() {
		if !t.IsShadow() {
			all = append(all, t)
		}
	}
	return all
}

// cut ends the turns that a process has left open.
func (r record) cut(cause error) (err error) {
	for _, t := range r.hosted() {
		if l := t.Life(); l.TurnOpen {
			err = errors.Join(err, t.End(agent.Stopped, cause.Error(), l.Result, "not run: the turn was stopped"))
		}
	}
	return err
}

// conclude ends on record what is left of an agent without a process and of those below
// it. If its end is final, nobody will read their mail, and the senders are told.
func (n *nodes) conclude(ctx context.Context, id mailbox.AgentID, cause error, final bool) (err error) {
	dir := n.dir(id)
	if !isDir(filepath.Join(dir, "journal")) {
		return nil // it never began
	}
	var k *kept
	err = whenNobodyLooks(ctx, func() (err error) {
		k, err = openRecord(ctx, n.s.Info(), dir, transcript.Options{}, n.s.sendReceipt)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	r := record{k.store, k.agents}
	if err := errors.Join(r.cut(cause), r.end(ctx, id, cause)); err != nil {
		return err
	}
	if final {
		if err := n.ship(k.store); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.staffs[id] = r.staff(id)
	if final {
		for _, t := range r.hosted() {
			n.buried[t.ID()] = true
			k.agents.Bury(t.ID())
		}
	}
	return nil
}

// ship sends what was accepted on a record and is not known to have arrived: no process
// of its own will. What is sent twice arrives once.
func (n *nodes) ship(store *transcript.Store) error {
	pending := store.Pending()
	for _, e := range pending {
		if e.Ref == "" || n.s.store.HasBody(e.Ref) {
			continue
		}
		body, err := store.Object(e.Ref)
		if err == nil {
			err = n.s.store.KeepBody(body)
		}
		if err != nil {
			return fmt.Errorf("send the whole of message %s, which the process of its sender has left: %w", e.ID, err)
		}
	}
	if c := n.s.wire.Courier(); c != nil {
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
	staff := n.Staff(host)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range staff {
		n.buried[s.Life.Spec.ID] = true
	}
}
