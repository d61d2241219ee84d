package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// incomingKept is how many arrivals may wait for the disk before deliveries do.
const incomingKept = 512

// arrival is a message that the recorder has judged and its receipt still owes.
type arrival struct {
	id       ID
	from, to Address
	cursor   Cursor
	Arrival
}

// incoming turns arrivals into receipts and wakes, in their order and never
// before the disk has them. Recording goes on while earlier records are synced:
// one sync serves everything that came during the one before.
type incoming struct {
	recorder Recorder
	trouble  func(error)
	wake     func(AgentID)
	forget   func(Cursor) error
	receipt  func(Receipt)
	arrived  chan arrival
	said     *queue[Receipt] // by the receivers themselves
	broken   bool            // only run: the journal refused
}

// arrive is the transport's deliver.
func (in *incoming) arrive(ctx context.Context, e Envelope, c Cursor) {
	got, err := in.recorder.Arrive(e, c)
	switch {
	case err == nil:
	case errors.Is(err, ErrNotHere):
		return
	default:
		in.trouble(fmt.Errorf("mailbox: record message %s from %s to %s, it will be sent again: %w", e.ID, e.From, e.To, err))
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
		case <-in.said.more:
		case first := <-in.arrived:
			batch = append(batch[:0], first)
			for n := len(in.arrived); n > 0; n-- {
				batch = append(batch, <-in.arrived)
			}
			in.finish(batch)
			clear(batch)
		}
		for _, r := range in.said.take() {
			in.receipt(r)
		}
	}
}

// finish waits for the batch's records and says what became of its messages.
func (in *incoming) finish(batch []arrival) {
	durable := in.durable(batch)
	for _, r := range receipts(durable) {
		in.receipt(r)
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
			in.trouble(fmt.Errorf("mailbox: tell the transport what is recorded: %w", err))
		}
	}
}

// durable waits for the disk and returns the batch up to the first record that
// did not get there: a receipt for anything behind it could be a lie.
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
			in.trouble(fmt.Errorf("mailbox: message %s to %s could not be stored, no mail is taken any more until a restart: %w", a.id, a.to, err))
			return batch[:i]
		}
	}
	return batch
}

// receipts says of each pair only the last; the numbers are cumulative.
func receipts(batch []arrival) []Receipt {
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
		case a.Verdict == Stale, a.Verdict == Past, a.Verdict == Gone:
			out = append(out, r)
		case again && out[i].State == StateFull && r.Through <= out[i].Through:
			// A duplicate behind a refused message does not make room.
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
		// Through counts what a later incarnation sent, so it says nothing here.
		r.State, r.Through, r.IDs = StateRejected, 0, []ID{a.id}
		r.Reason = fmt.Sprintf("%s is a past life of its sender: a later one has written since", a.from)
	case Past:
		r.State, r.IDs = StateRejected, []ID{a.id}
		r.Reason = fmt.Sprintf("it was meant for %s, and its receiver lives in another incarnation now", a.to)
	case Gone:
		r.State, r.IDs = StateDead, []ID{a.id}
		r.Reason = fmt.Sprintf("%s has ended for good and has not read it", a.to)
	}
	return r
}

// superseded tells the sender what will never be read. It says Through as well:
// the messages were delivered, and that receipt may come after this one.
func (a arrival) superseded() Receipt {
	return Receipt{
		From: a.to, To: a.from, State: StateExpired, Through: a.Through, IDs: a.Superseded,
		Reason: fmt.Sprintf("superseded by message %s", a.id),
	}
}
