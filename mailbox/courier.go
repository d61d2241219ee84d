package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CourierOptions configures a Courier; the zero value works.
type CourierOptions struct {
	ResendAfter time.Duration // time without a receipt after which messages are sent again; 0 is 1.5 s
	MaxInFlight int           // messages of one pair that may be unacknowledged on the wire; 0 is 64

	// Wake is called when an agent has mail and its record is on disk. It may be
	// called without need, and must neither block nor call Stop.
	Wake func(AgentID)
	// OnError is called with errors that the courier recovers from, and with the one
	// that ends receiving. It is called from several goroutines and must not block.
	OnError func(error)
}

// Courier connects one Recorder with one Transport: it sends messages until they are
// acknowledged, and records those that arrive. It runs two goroutines from Start to Stop.
type Courier struct {
	transport Transport
	recorder  Recorder
	lifecycle lifecycle
	out       outgoing
	in        incoming
}

// NewCourier returns a courier; it does nothing before Start.
func NewCourier(t Transport, r Recorder, o CourierOptions) *Courier {
	if o.ResendAfter <= 0 {
		o.ResendAfter = 1500 * time.Millisecond
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64
	}
	if o.Wake == nil {
		o.Wake = func(AgentID) {}
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	c := &Courier{transport: t, recorder: r}
	c.out = outgoing{
		publish:     t.Publish,
		onError:     o.OnError,
		window:      o.MaxInFlight,
		resendAfter: o.ResendAfter,
		more:        make(chan struct{}, 1),
		flows:       make(map[pair]*flow),
		marks:       make(map[pair]uint64),
		senders:     make(map[AgentID]struct{}),
	}
	c.in = incoming{
		recorder:    r,
		onError:     o.OnError,
		wake:        o.Wake,
		forget:      t.Forget,
		sendReceipt: c.sendReceipt,
		arrived:     make(chan arrival, maxIncoming),
		receipts:    newQueue[Receipt](),
	}
	return c
}

// Start delivers everything in the stream after from, and sends pending, the outboxes
// of the node's ledgers, before the messages that Send was given already. The courier
// stops when ctx ends, as Stop does but without waiting. After an error it is stopped.
func (c *Courier) Start(ctx context.Context, from Cursor, pending []Envelope) error {
	ctx, err := c.lifecycle.start(ctx)
	if err != nil {
		return err
	}
	c.out.start(pending)
	deliver := func(e Envelope, at Cursor) { c.in.arrive(ctx, e, at) }
	if err := c.transport.Start(ctx, from, deliver, c.acknowledge); err != nil {
		return errors.Join(fmt.Errorf("mailbox: start the transport: %w", err), c.Stop())
	}
	c.lifecycle.running.Go(func() { c.out.run(ctx) })
	c.lifecycle.running.Go(func() { c.in.run(ctx) })
	return nil
}

// Send sends a message whose intent is on disk. It never blocks, and may be called
// before Start and by several goroutines, in any order: the receiver records the
// messages of a pair by their numbers. After Stop it does nothing; the next Start gets
// the message from the journal.
func (c *Courier) Send(e Envelope) { c.out.send(e) }

// Adopt sends the outboxes of a node that has ended for good, and receives the receipts
// for them from then on. Call it after Start, and again after each restart of this node.
func (c *Courier) Adopt(pending []Envelope) { c.out.adopt(pending) }

// SendReceipt sends the receipt of a receiver of this node for its messages: that they are
// read, answered or rejected, or that it is dead. Call it when that is recorded. The
// sender of the messages may live on this node too; the courier then stops sending those
// that the receipt gives up. SendReceipt never blocks, so that it may be called with
// locks held.
func (c *Courier) SendReceipt(r Receipt) { c.in.receipts.put(r) }

// Stop ends sending and receiving and waits for calls under way; what is unacknowledged
// stays in the journal. It is idempotent and may be called concurrently and before
// Start, but not from Wake or a method of the Recorder.
func (c *Courier) Stop() error {
	c.lifecycle.stop()
	err := c.transport.Stop()
	c.lifecycle.running.Wait()
	if err != nil {
		return fmt.Errorf("mailbox: stop the transport: %w", err)
	}
	return nil
}

// sendReceipt sends r over the transport unless its receiver is of this node.
func (c *Courier) sendReceipt(r Receipt) {
	if c.out.local(r.To.Agent) {
		c.acknowledge(r)
		return
	}
	if err := c.transport.PublishReceipt(r); err != nil {
		c.out.onError(fmt.Errorf("mailbox: send a receipt to %s, it will be repeated: %w", r.To, err))
	}
}

func (c *Courier) acknowledge(r Receipt) {
	c.out.acknowledge(r)
	c.recorder.Acknowledge(r)
}
