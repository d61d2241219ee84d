package natsbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/internal/retry"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const requestTimeout = 5 * time.Second

// The headers of an envelope's NATS message, for tools; readers use the body alone.
// docs/envelope.md describes them.
const (
	HeaderID   = "Swarm-Id"
	HeaderFrom = "Swarm-From"
	HeaderTo   = "Swarm-To"
	HeaderSeq  = "Swarm-Seq"
	HeaderKind = "Swarm-Kind"
)

// Options configures a Box; Space is required.
type Options struct {
	Space    string        // names the session in every subject; 1 to 64 of a-z, 0-9 and '-'
	MaxBytes int64         // of the stream, which drops the oldest; 0 is 256 MiB
	MaxAge   time.Duration // of an envelope in the stream; 0 is 14 days
	Replicas int           // of the stream, in a cluster; 0 is 1
	// Sole declares that only this process reads the space, so that the stream is purged
	// of what it has recorded. Otherwise only the limits above remove envelopes.
	Sole bool
	// OnError is called with errors that the box recovers from. It is called from several
	// goroutines and must not block.
	OnError func(error)
}

// RegressedError reports that the stream is another one than that of the cursor, or ends
// before it. The box reads it again from its beginning.
type RegressedError struct {
	Stream string
	Cursor mailbox.Cursor // what was read before
	Now    mailbox.Cursor // where the stream ends
}

func (e *RegressedError) Error() string {
	return fmt.Sprintf("the stream %s went back: %d messages were read and it ends at %d (created %s); it is read again from the start, nothing is lost",
		e.Stream, e.Cursor.Seq, e.Now.Seq, time.Unix(0, e.Now.Stream).UTC().Format(time.RFC3339))
}

// PoisonError reports a message that was skipped.
type PoisonError struct {
	Subject string
	Seq     uint64 // in the stream
	Err     error
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("skipped message %d on %s: %v", e.Seq, e.Subject, e.Err)
}

func (e *PoisonError) Unwrap() error { return e.Err }

// Box is the mailbox.Transport over JetStream, with one stream for the space and one
// consumer for the process. It runs three goroutines from Start to Stop. It does not own
// its connection.
type Box struct {
	nc    *nats.Conn
	o     Options
	space space

	mu      sync.Mutex
	started bool
	stopped bool
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	subs    []*nats.Subscription

	js             jetstream.JetStream // set by Start
	throttle       *throttle
	checkRequested chan struct{} // pending signal for watch
	reader         reader
	purge          purge
}

var _ mailbox.Transport = (*Box)(nil)

// New returns a transport over nc; it does nothing before Start.
func New(nc *nats.Conn, o Options) *Box {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 256 << 20
	}
	if o.MaxAge <= 0 {
		o.MaxAge = 14 * 24 * time.Hour
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return &Box{nc: nc, o: o, space: space(o.Space), throttle: newThrottle(nc.NewInbox()), checkRequested: make(chan struct{}, 1)}
}

// Start implements mailbox.Transport. It fails if the stream cannot be read; later errors
// go to OnError, and the box tries again.
func (b *Box) Start(ctx context.Context, from mailbox.Cursor, deliver func(mailbox.Envelope, mailbox.Cursor), receipt func(mailbox.Receipt)) error {
	ctx, err := b.begin(ctx)
	if err != nil {
		return err
	}
	b.reader = reader{box: b, at: from, deliver: deliver}
	receipts, err := b.subscribe()
	if err != nil {
		return errors.Join(err, b.Stop())
	}
	if err := retry.Do(ctx, func(ctx context.Context) error { return b.reader.open(ctx, b.ensure) }); err != nil {
		return errors.Join(err, b.Stop())
	}
	b.running.Go(func() { b.reader.run(ctx) })
	b.running.Go(func() { b.receiveReceipts(ctx, receipts, receipt) })
	b.running.Go(func() { b.watch(ctx) })
	return nil
}

func (b *Box) begin(ctx context.Context) (context.Context, error) {
	if err := b.space.check(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stopped:
		return nil, mailbox.ErrStopped
	case b.started:
		return nil, errors.New("natsbox: started twice")
	}
	js, err := jetstream.New(b.nc)
	if err != nil {
		return nil, fmt.Errorf("natsbox: use JetStream: %w", err)
	}
	b.started, b.js = true, js
	ctx, b.cancel = context.WithCancelCause(ctx)
	return ctx, nil
}

// subscribe subscribes to replies, advisories and receipts, and returns the subscription
// of the receipts.
func (b *Box) subscribe() (*nats.Subscription, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	check := func(*nats.Msg) { b.requestCheck() }
	for subject, handle := range map[string]nats.MsgHandler{
		b.throttle.reply:            b.handleReply,
		b.space.advisory("DELETED"): check,
		b.space.advisory("CREATED"): check,
	} {
		sub, err := b.nc.Subscribe(subject, handle)
		if err != nil {
			return nil, fmt.Errorf("natsbox: subscribe to %s: %w", subject, err)
		}
		b.subs = append(b.subs, sub)
	}
	receipts, err := b.nc.SubscribeSync(b.space.receipts("*"))
	if err != nil {
		return nil, fmt.Errorf("natsbox: subscribe to receipts: %w", err)
	}
	b.subs = append(b.subs, receipts)
	return receipts, nil
}

// handleReply handles the stream's reply to a published message. Without a responder
// there is no stream: checkStream makes one, and the courier sends again.
func (b *Box) handleReply(m *nats.Msg) {
	err := b.throttle.handleReply(m)
	if errors.Is(err, nats.ErrNoResponders) {
		b.requestCheck()
	}
	if err != nil {
		b.o.OnError(fmt.Errorf("natsbox: the stream %s refused mail, it is sent again: %w", b.space.stream(), err))
	}
}

func (b *Box) receiveReceipts(ctx context.Context, sub *nats.Subscription, receipt func(mailbox.Receipt)) {
	for ctx.Err() == nil {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrSlowConsumer):
			continue // some are lost; receipts are repeated
		case err != nil:
			if ctx.Err() == nil {
				b.o.OnError(fmt.Errorf("natsbox: receiving receipts has ended: %w", err))
			}
			return
		}
		r, err := mailbox.DecodeReceipt(m.Data)
		if err == nil && m.Subject != b.space.receipts(string(r.To.Agent)) {
			err = fmt.Errorf("the receipt is for %s", r.To.Agent)
		}
		if err != nil {
			b.o.OnError(&PoisonError{Subject: m.Subject, Err: err})
			continue
		}
		receipt(r)
	}
}

// Publish implements mailbox.Transport.
func (b *Box) Publish(e mailbox.Envelope) error {
	msg := &nats.Msg{
		Subject: b.space.mail(string(e.To.Agent), string(e.From.Agent)),
		Header:  header(e),
		Data:    e.AppendJSON(make([]byte, 0, 384+len(e.Body)+len(e.Body)/16)),
	}
	if limit := b.nc.MaxPayload(); limit > 0 && int64(msg.Size()) > limit {
		return fmt.Errorf("natsbox: publish message %s: %w", e.ID, &mailbox.TooLargeError{What: "NATS form", Size: msg.Size(), Limit: int(limit)})
	}
	var err error
	switch msg.Reply, err = b.throttle.acquire(); {
	case errors.Is(err, errNoReply):
		b.o.OnError(err)
		b.requestCheck()
	case err != nil:
		return err
	}
	if err := b.nc.PublishMsg(msg); err != nil {
		return fmt.Errorf("natsbox: publish message %s: %w", e.ID, err)
	}
	return nil
}

// PublishReceipt implements mailbox.Transport.
func (b *Box) PublishReceipt(r mailbox.Receipt) error {
	if err := b.nc.Publish(b.space.receipts(string(r.To.Agent)), r.AppendJSON(nil)); err != nil {
		return fmt.Errorf("natsbox: publish a receipt: %w", err)
	}
	return nil
}

// Forget implements mailbox.Transport. With Options.Sole the stream is purged through
// that position from time to time; otherwise Forget does nothing.
func (b *Box) Forget(through mailbox.Cursor) error {
	if b.o.Sole {
		b.purge.note(through)
	}
	return nil
}

// Stop implements mailbox.Transport.
func (b *Box) Stop() error {
	b.mu.Lock()
	b.stopped = true
	subs := b.subs
	b.subs = nil
	if b.cancel != nil {
		b.cancel(mailbox.ErrStopped)
	}
	b.mu.Unlock()
	b.throttle.close()
	var errs []error
	for _, sub := range subs {
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			errs = append(errs, fmt.Errorf("natsbox: unsubscribe: %w", err))
		}
	}
	b.running.Wait()
	return errors.Join(errs...)
}
