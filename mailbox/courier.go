package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// CourierOptions; the zero value works.
type CourierOptions struct {
	ResendAfter time.Duration // silence of a receiver that counts as loss; 0 is 1.5 s
	MaxInFlight int           // messages of one pair ahead of the receiver's mark; 0 is 64

	// Wake is told, after the record is on disk, that an agent has mail. It carries
	// no data, may come without need, and must not block. It must not call Stop.
	Wake func(AgentID)
	// OnTrouble is told what went wrong and is being repaired, or why nothing is
	// taken any more. It is called from several goroutines and must not block.
	OnTrouble func(error)
}

// Courier runs the protocol between one Recorder and one Transport. It owns two
// goroutines from Start until Stop.
type Courier struct {
	transport Transport
	recorder  Recorder
	life      life
	out       outgoing
	in        incoming
}

// NewCourier returns a courier that does nothing before Start.
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
	if o.OnTrouble == nil {
		o.OnTrouble = func(error) {}
	}
	c := &Courier{transport: t, recorder: r}
	c.out = outgoing{
		publish: t.Publish,
		trouble: o.OnTrouble,
		window:  o.MaxInFlight,
		wait:    o.ResendAfter,
		more:    make(chan struct{}, 1),
		flows:   make(map[pair]*flow),
		said:    make(map[pair]uint64),
		senders: make(map[AgentID]struct{}),
	}
	c.in = incoming{
		recorder: r,
		trouble:  o.OnTrouble,
		wake:     o.Wake,
		forget:   t.Forget,
		receipt:  c.tell,
		arrived:  make(chan arrival, incomingKept),
		said:     newQueue[Receipt](),
	}
	return c
}

// Start begins to deliver everything after from and to send pending, the
// outboxes of the node's ledgers, before anything that Send was given earlier.
// ctx is the life of the courier: its end stops it as Stop does, without
// waiting. After an error the courier is stopped.
func (c *Courier) Start(ctx context.Context, from Cursor, pending []Envelope) error {
	ctx, err := c.life.start(ctx)
	if err != nil {
		return err
	}
	c.out.begin(pending)
	deliver := func(e Envelope, at Cursor) { c.in.arrive(ctx, e, at) }
	if err := c.transport.Start(ctx, from, deliver, c.settle); err != nil {
		return errors.Join(fmt.Errorf("mailbox: start the transport: %w", err), c.Stop())
	}
	c.life.running.Go(func() { c.out.run(ctx) })
	c.life.running.Go(func() { c.in.run(ctx) })
	return nil
}

// Send takes a message whose intent is on disk. It never waits for the wire and
// may be called before Start and by several goroutines; the messages of a pair
// are recorded by their numbers, however the calls come. After Stop it does nothing: the next Start gets the
// message from the journal.
func (c *Courier) Send(e Envelope) { c.out.send(e) }

// Adopt sends what a node that is gone for good has accepted and nobody has settled,
// its outboxes in their order. Who asks after those messages asks here from then on;
// after a crash of this node they must be given again. Call it after Start.
func (c *Courier) Adopt(pending []Envelope) { c.out.take(pending) }

// Receipt passes on what a receiver of this node says about its messages: that
// they are read, answered, rejected, or that it is dead. Call it after that is
// recorded. The receipt's sender may be of this node too, and the call never
// waits, so it may be made under the caller's locks. It also tells the courier
// to give up messages that the node's own rules gave up.
func (c *Courier) Receipt(r Receipt) { c.in.said.put(r) }

// Stop ends sending and recording and waits for what is under way; whatever is
// unsettled stays in the journal. It is idempotent, may be called concurrently
// and before Start, but not from Wake or a Recorder's method.
func (c *Courier) Stop() error {
	c.life.end()
	err := c.transport.Stop()
	c.life.running.Wait()
	if err != nil {
		return fmt.Errorf("mailbox: stop the transport: %w", err)
	}
	return nil
}

// tell brings a receipt to its sender; one of this node needs no wire.
func (c *Courier) tell(r Receipt) {
	if c.out.local(r.To.Agent) {
		c.settle(r)
		return
	}
	if err := c.transport.Receipt(r); err != nil {
		c.out.trouble(fmt.Errorf("mailbox: send a receipt to %s, it will be repeated: %w", r.To, err))
	}
}

func (c *Courier) settle(r Receipt) {
	c.out.settle(r)
	c.recorder.Settle(r)
}
