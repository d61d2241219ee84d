package natsbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// ErrClosed is the error of a closed bus.
var ErrClosed = errors.New("natsbox: the bus is closed")

// OpenOptions configures a Bus; Dir and Space are required.
type OpenOptions struct {
	Dir   string // used by this process alone: its journal, and the store of an embedded server
	Space string // the session; processes of one space reach each other
	// URL is the server of another process: nats://host:port, or unix:/path for a
	// socket that Listen made. "" embeds a server in this process.
	URL string
	// Listen is where an embedded server accepts other processes of the same user:
	// unix:/path, or "" for none.
	Listen string
	// OnError is called with errors that the bus recovers from or skips. It is called from
	// several goroutines and must not block.
	OnError func(error)
	// ResendAfter is mailbox.CourierOptions.ResendAfter.
	ResendAfter time.Duration
}

// Bus is a durable message bus between processes, without agents. It runs one goroutine
// for each registered agent and a few of its own, from Open to Close.
type Bus struct {
	o       OpenOptions
	wire    *wire
	journal *journal.Journal
	courier *mailbox.Courier
	ctx     context.Context // ends when the bus does
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	closing func() error

	mu     sync.Mutex
	closed bool
	agents map[mailbox.AgentID]*local
}

// local is an agent of this process. Bus.mu guards its ledger and receive; wake belongs to
// its goroutine.
type local struct {
	ledger  *mailbox.Ledger
	receive func(mailbox.Envelope) error
	wake    chan struct{} // one pending signal
}

// Open opens the journal in o.Dir, connects to a server or embeds one, and sends what is
// unacknowledged. The bus stops when ctx ends; Close must be called all the same.
func Open(ctx context.Context, o OpenOptions) (*Bus, error) {
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	b := &Bus{o: o, agents: make(map[mailbox.AgentID]*local)}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	b.closing = sync.OnceValue(b.shutdown)
	if err := b.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the bus in %s: %w", o.Dir, err), b.Close())
	}
	return b, nil
}

func (b *Bus) open() (err error) {
	if b.o.Dir, err = filepath.Abs(b.o.Dir); err != nil {
		return err
	}
	if b.journal, err = journal.Open(filepath.Join(b.o.Dir, "journal"), journal.Options{}); err != nil {
		return err
	}
	if err := b.journal.Live(b.replay); err != nil {
		return err
	}
	if b.wire, err = openWire(b.ctx, b.o); err != nil {
		return err
	}
	box := New(b.wire.nc, Options{Space: b.o.Space, OnError: b.o.OnError})
	b.courier = mailbox.NewCourier(box, (*recorder)(b), mailbox.CourierOptions{
		ResendAfter: b.o.ResendAfter, Wake: b.wake, OnError: b.o.OnError,
	})
	b.running.Go(b.checkpoints)
	return b.courier.Start(b.ctx, b.cursor(), b.outbox())
}

// Register makes this process the home of agent and calls receive with each of its
// messages, one at a time and in order, from one goroutine. A message is read when
// receive returns nil. After an error, or when the process dies during the call, the same
// message is delivered again, after a pause or a restart; receive can recognise it by
// its ID. receive may call Post but not Close.
func (b *Bus) Register(agent mailbox.AgentID, receive func(mailbox.Envelope) error) error {
	if !agent.Valid() {
		return fmt.Errorf("natsbox: %.80q cannot be an agent; use 1 to 64 of a-z, 0-9 and '-'", agent)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	a := b.agent(agent)
	if a.receive != nil {
		return fmt.Errorf("natsbox: the agent %s is registered already in this process", agent)
	}
	a.receive = receive
	b.running.Go(func() { b.dispatch(agent, a) })
	return nil
}

// agent returns the agent, and adds it if it is new. mu is held.
func (b *Bus) agent(id mailbox.AgentID) *local {
	a := b.agents[id]
	if a == nil {
		a = &local{ledger: mailbox.NewLedger(id), wake: make(chan struct{}, 1)}
		b.agents[id] = a
	}
	return a
}

// Post sends body to an agent of any process of the space and returns when the message is
// on disk; the bus then sends it until it is received. Post returns *mailbox.FullError or
// *mailbox.TooLargeError for a message that it does not accept. If ctx ends first, Post
// returns the id and the cause, and State reports whether the message was accepted.
func (b *Bus) Post(ctx context.Context, from, to mailbox.AgentID, body string) (mailbox.ID, error) {
	e, ticket, err := b.intend(from, to, body)
	if err != nil {
		return "", err
	}
	select {
	case <-ticket.Done():
	case <-ctx.Done():
		if err := b.sendWhenStored(ticket, e); err != nil {
			return e.ID, err
		}
		return e.ID, fmt.Errorf("natsbox: post to %s: %w", to, context.Cause(ctx))
	}
	if err := ticket.Err(); err != nil {
		return e.ID, fmt.Errorf("natsbox: the message to %s could not be stored and will not be sent: %w", to, err)
	}
	b.courier.Send(e)
	return e.ID, nil
}

func (b *Bus) intend(from, to mailbox.AgentID, body string) (mailbox.Envelope, journal.Ticket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return mailbox.Envelope{}, journal.Ticket{}, ErrClosed
	}
	if !from.Valid() {
		return mailbox.Envelope{}, journal.Ticket{}, fmt.Errorf("natsbox: %.80q cannot be an agent; use 1 to 64 of a-z, 0-9 and '-'", from)
	}
	l := b.agent(from).ledger
	e, err := l.Compose(mailbox.Envelope{
		From: mailbox.Address{Agent: from}, To: mailbox.Address{Agent: to},
		Kind: mailbox.KindText, Sent: time.Now(), Body: body,
	}, 0)
	if err != nil {
		return e, journal.Ticket{}, err
	}
	ticket := b.journal.Append(string(from), recordSent, e.AppendBinary(nil))
	l.Sent(e)
	return e, ticket, nil
}

// sendWhenStored sends a message whose Post did not wait for the disk.
func (b *Bus) sendWhenStored(ticket journal.Ticket, e mailbox.Envelope) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed // the journal has it or not; the next Open sends it
	}
	b.running.Go(func() {
		if ticket.Wait() == nil {
			b.courier.Send(e)
		}
	})
	return nil
}

// State returns the state of a message that an agent of this process posted: of each
// unacknowledged one and of the last 1,000 others of each agent.
func (b *Bus) State(id mailbox.ID) (mailbox.Status, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.agents {
		if s, ok := a.ledger.State(id); ok {
			return s, true
		}
	}
	return mailbox.Status{}, false
}

// Close stops receiving and sending, waits for the receive calls under way, and
// closes the journal and the server. It is idempotent and may be called
// concurrently, but not from receive.
func (b *Bus) Close() error { return b.closing() }

func (b *Bus) shutdown() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel(ErrClosed)
	var errs []error
	if b.courier != nil {
		errs = append(errs, b.courier.Stop())
	}
	b.running.Wait()
	if b.journal != nil {
		errs = append(errs, b.journal.Close())
	}
	if b.wire != nil {
		errs = append(errs, b.wire.close())
	}
	return errors.Join(errs...)
}
