package mailboxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// Node is a store with a courier that can crash and restart.
type Node struct {
	Store   *Store
	Courier *mailbox.Courier

	options mailbox.CourierOptions
	mu      sync.Mutex
	errors  []error
}

// NewNode returns a stopped node.
func NewNode(s *Store, o mailbox.CourierOptions) *Node {
	n := &Node{Store: s, options: o}
	n.options.OnError = func(err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.errors = append(n.errors, err)
	}
	return n
}

// Start starts a new courier at the end of the store's journal.
func (n *Node) Start(ctx context.Context, t mailbox.Transport) error {
	n.Courier = mailbox.NewCourier(t, n.Store.Recorder(), n.options)
	return n.Courier.Start(ctx, n.Store.Cursor(), n.Store.Pending())
}

// Crash stops the node like a kill: of what was not synced only the first keep records
// survive, and its goroutines cannot record any more.
func (n *Node) Crash(keep int) error {
	n.Store.Crash(keep)
	return n.Courier.Stop()
}

// Errors returns what OnError was called with, without crashes.
func (n *Node) Errors() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []error
	for _, err := range n.errors {
		if !errors.Is(err, ErrCrashed) {
			out = append(out, err)
		}
	}
	return out
}

// Send accepts a message and hands it to the courier.
func (n *Node) Send(from, to mailbox.AgentID, body string) (mailbox.Envelope, error) {
	e, err := n.Store.Accept(from, to, body)
	if err == nil {
		n.Courier.Send(e)
	}
	return e, err
}

// Read reads all mail of an agent and sends the receipts.
func (n *Node) Read(agent mailbox.AgentID) {
	for _, r := range n.Store.Read(agent) {
		n.Courier.SendReceipt(r)
	}
}

// Await returns when cond holds; it checks at each change of the store.
func (n *Node) Await(timeout time.Duration, what string, cond func() bool) error {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	for {
		changed := n.Store.Changed()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return fmt.Errorf("not within %v: %s", timeout, what)
		}
	}
}

// Verify compares what agents sent with what was recorded and returns one error
// for everything lost, duplicated, reordered or invented.
func Verify(nodes ...*Node) error {
	sent, got := make(map[pair][]mailbox.Envelope), make(map[pair][]mailbox.Envelope)
	here := make(map[mailbox.AgentID]bool)
	for _, n := range nodes {
		for _, name := range n.Store.names {
			here[name] = true
			group(sent, n.Store.Sent(name))
			group(got, n.Store.Transcript(name))
		}
	}
	pairs := slices.Collect(maps.Keys(sent))
	for p := range got {
		if _, known := sent[p]; !known {
			pairs = append(pairs, p)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var errs []error
	for _, p := range pairs {
		if !here[p.to] {
			continue
		}
		if err := compare(sent[p], got[p]); err != nil {
			errs = append(errs, fmt.Errorf("%s to %s: %w", p.from, p.to, err))
		}
	}
	return errors.Join(errs...)
}

type pair struct{ from, to mailbox.AgentID }

func group(by map[pair][]mailbox.Envelope, list []mailbox.Envelope) {
	for _, e := range list {
		p := pair{e.From.Agent, e.To.Agent}
		by[p] = append(by[p], e)
	}
}

func compare(sent, got []mailbox.Envelope) error {
	times := make(map[mailbox.ID]int)
	for _, e := range got {
		times[e.ID]++
	}
	for _, e := range sent {
		switch n := times[e.ID]; n {
		case 1:
		case 0:
			return fmt.Errorf("number %d is lost (%d of %d recorded)", e.Seq, len(got), len(sent))
		default:
			return fmt.Errorf("number %d was recorded %d times", e.Seq, n)
		}
	}
	if len(got) != len(sent) {
		return fmt.Errorf("%d recorded and %d sent", len(got), len(sent))
	}
	for i := range sent {
		if got[i].ID != sent[i].ID {
			return fmt.Errorf("number %d was recorded in the place of number %d", got[i].Seq, sent[i].Seq)
		}
	}
	return nil
}
