package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// maxIncoming is how many arrivals may wait for the disk before deliveries block.
const maxIncoming = 512

// arrival is a message that the recorder has checked and that has no receipt yet.
type arrival struct {
	id       ID
	from, to Address
	cursor   Cursor
	Arrival
}

// incoming turns arrivals into receipts and wakes, in order and once they are on
// disk. Recording continues during a sync: the next sync covers everything that arrived
// meanwhile.
type incoming struct {
	recorder    Recorder
	onError     func(error)
	wake        func(AgentID)
	forget      func(Cursor) error
	sendReceipt func(Receipt)
	arrived     chan arrival
	receipts    *queue[Receipt] // receipts of receivers of this node
	broken      bool            // used by run alone: the journal failed
}

// arrive is called by the transport for each message.
func (in *incoming) arrive(ctx context.Context, e Envelope, c Cursor) {
	got, err := in.recorder.Arrive(e, c)
	switch {
	case err == nil:
	case errors.Is(err, ErrNotLocal):
		return
	default:
		in.onError(fmt.Errorf("mailbox: record message %s from %s to %s, it will be sent again: %w", e.ID, e.From, e.To, err))
		return
	}
	select {
	case in.arrived <- arrival{id: e.ID, from: e.From, to: e.To, cursor: c, Arrival: got}:
	case <-ctx.Done():
	}
}

func (in *incoming) run(ctx context.Context) {
	var batch []arrival
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-in.receipts.more:
		case first := <-in.arrived:
			batch = append(batch[:0], first)
			for n := len(in.arrived); n > 0; n-- {
				batch = append(batch, <-in.arrived)
			}
			in.finish(batch)
			clear(batch)
		}
		for _, r := range in.receipts.take() {
			in.sendReceipt(r)
		}
	}
}

// finish waits for the records of a batch, then sends receipts and wakes receivers.
func (in *incoming) finish(batch []arrival) {
	durable := in.durable(batch)
	for _, r := range lastReceipts(durable) {
		in.sendReceipt(r)
	}
	var woken []AgentID
	for _, a := range durable {
		if a.Verdict == Fresh && !slices.Contains(woken, a.to.Agent) {
			woken = append(woken, a.to.Agent)
			in.wake(a.to.Agent)
		}
	}
	if n := len(durable); n > 0 {
		if err := in.forget(durable[n-1].cursor); err != nil {
			in.onError(fmt.Errorf("mailbox: acknowledge messages in the stream: %w", err))
		}
	}
}

// durable waits for the disk and returns the batch up to the first record that could
// not be stored: nothing after it may be acknowledged.
func (in *incoming) durable(batch []arrival) []arrival {
	if in.broken {
		return nil
	}
	for i, a := range batch {
		if a.Durable == nil {
			continue
		}
		if err := a.Durable(); err != nil {
			in.broken = true
			in.onError(fmt.Errorf("mailbox: message %s to %s could not be stored, no mail is received until a restart: %w", a.id, a.to, err))
			return batch[:i]
		}
	}
	return batch
}

// lastReceipts returns the last receipt of each pair, since receipts are cumulative.
func lastReceipts(batch []arrival) []Receipt {
	var out []Receipt
	seen := make(map[pair]int)
	for _, a := range batch {
		if len(a.Superseded) > 0 {
			out = append(out, a.superseded())
		}
		r := a.toReceipt()
		p := pair{a.from.Agent, a.to.Agent}
		i, again := seen[p]
		switch {
		case a.Verdict == Stale, a.Verdict == WrongIncarnation, a.Verdict == Dead:
			out = append(out, r)
		case again && out[i].State == StateFull && r.Through <= out[i].Through:
			// A duplicate after a refused message does not make room.
		case again:
			out[i] = r
		default:
			seen[p] = len(out)
			out = append(out, r)
		}
	}
	return out
}

func (a arrival) toReceipt() Receipt {
	r := Receipt{From: a.to, To: a.from, State: StateDelivered, Through: a.Through}
	switch a.Verdict {
	case Gap:
		r.State = StateAccepted
	case Full:
		r.State = StateFull
	case Stale:
		// Through counts messages of a later incarnation, so it does not apply here.
		r.State, r.Through, r.IDs = StateRejected, 0, []ID{a.id}
		r.Reason = fmt.Sprintf("%s is an earlier incarnation of its sender: a later one has sent messages since", a.from)
	case WrongIncarnation:
		r.State, r.IDs = StateRejected, []ID{a.id}
		r.Reason = fmt.Sprintf("it was sent to %s, and its receiver has another incarnation now", a.to)
	case Dead:
		r.State, r.IDs = StateDead, []ID{a.id}
		r.Reason = fmt.Sprintf("%s has ended for good and has not read it", a.to)
	}
	return r
}

// superseded returns the receipt for unread messages that a was sent to replace. It
// carries Through too: they were delivered, and it may overtake that receipt.
func (a arrival) superseded() Receipt {
	return Receipt{
		From: a.to, To: a.from, State: StateExpired, Through: a.Through, IDs: a.Superseded,
		Reason: fmt.Sprintf("superseded by message %s", a.id),
	}
}
