package natsbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	heartbeat      = 2 * time.Second        // of an idle consumer
	pullExpiry     = 30 * time.Second       // of one pull request
	pullBatch      = 500                    // messages of one pull request
	pullBytes      = 8 << 20                // bytes of one pull request
	reopenDelay    = 100 * time.Millisecond // first pause after a failed open
	maxReopenDelay = 5 * time.Second        // longest pause
)

// errReopen ends the reading from a consumer that must be replaced.
var errReopen = errors.New("natsbox: the consumer must be replaced")

// reader delivers the stream in order from one goroutine. Its consumer is ephemeral,
// acknowledges nothing, and is replaced after any irregularity. The library's ordered
// consumer does the same, but pauses up to ten seconds after a reconnect and cannot be
// made to compare the stream with the cursor.
type reader struct {
	box     *Box
	deliver func(mailbox.Envelope, mailbox.Cursor)

	mu       sync.Mutex
	at       mailbox.Cursor // delivered up to here
	name     string         // of the current consumer
	iterator jetstream.MessagesContext
	serial   uint64 // messages that the current consumer has delivered; used by run alone
}

// open makes a consumer of the stream that find returns. It starts after the cursor, or at
// the beginning of the stream if the cursor is of another one.
func (r *reader) open(ctx context.Context, find func(context.Context) (jetstream.Stream, error)) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	st, err := find(ctx)
	if err != nil {
		return err
	}
	info, err := r.box.info(ctx, st)
	if err != nil {
		return err
	}
	at := r.startPosition(info)
	cons, err := st.CreateConsumer(ctx, consumerConfig(at))
	if err != nil {
		return fmt.Errorf("natsbox: read the stream %s: %w", r.box.space.stream(), err)
	}
	it, err := cons.Messages(jetstream.PullMaxMessagesWithBytesLimit(pullBatch, pullBytes), jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(heartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("natsbox: read the stream %s: %w", r.box.space.stream(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.iterator, r.name, r.serial = at, it, cons.CachedInfo().Name, 0
	return nil
}

func consumerConfig(at mailbox.Cursor) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: 2 * pullExpiry,
		DeliverPolicy:     jetstream.DeliverAllPolicy,
	}
	if at.Seq > 0 {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverByStartSequencePolicy, at.Seq+1
	}
	return c
}

// startPosition returns where to continue in the stream, and reports a stream that is
// another one or ends before the cursor.
func (r *reader) startPosition(info *jetstream.StreamInfo) mailbox.Cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := mailbox.Cursor{Stream: info.Created.UnixNano(), Seq: info.State.LastSeq}
	if r.at.Stream == end.Stream && r.at.Seq <= end.Seq {
		return r.at
	}
	if r.at != (mailbox.Cursor{}) {
		r.box.o.OnError(&RegressedError{Stream: r.box.space.stream(), Cursor: r.at, Now: end})
	}
	return mailbox.Cursor{Stream: end.Stream}
}

func (r *reader) cursor() mailbox.Cursor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// reopen makes run replace the consumer.
func (r *reader) reopen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.iterator.Stop()
}

func (r *reader) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.reopen)
	defer stop()
	pause := reopenDelay
	for {
		r.read(ctx)
		if ctx.Err() != nil {
			r.deleteConsumer(context.WithoutCancel(ctx))
			return
		}
		for err := r.open(ctx, r.box.find); err != nil; err = r.open(ctx, r.box.find) {
			if ctx.Err() == nil {
				r.box.o.OnError(err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				pause = min(2*pause, maxReopenDelay)
			}
		}
		pause = reopenDelay
		if ctx.Err() != nil {
			r.reopen() // ctx ended while there was no iterator to stop
		}
	}
}

// read delivers until the iterator ends or a message is missing.
func (r *reader) read(ctx context.Context) {
	r.mu.Lock()
	it := r.iterator
	r.mu.Unlock()
	defer it.Stop()
	for ctx.Err() == nil {
		m, err := it.Next()
		if err != nil || r.deliverNext(m) != nil {
			return
		}
	}
}

// deliverNext delivers one message if it is the next of the consumer.
func (r *reader) deliverNext(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if r.serial++; meta.Sequence.Consumer != r.serial {
		return errReopen
	}
	r.mu.Lock()
	r.at.Seq = meta.Sequence.Stream
	at := r.at
	r.mu.Unlock()
	e, err := r.box.decode(m)
	if err != nil {
		r.box.o.OnError(&PoisonError{Subject: m.Subject(), Seq: at.Seq, Err: err})
		return nil
	}
	r.deliver(e, at)
	return nil
}

func (b *Box) decode(m jetstream.Msg) (mailbox.Envelope, error) {
	e, err := mailbox.DecodeEnvelope(m.Data())
	if err != nil {
		return e, err
	}
	to, from, ok := b.space.parseMail(m.Subject())
	if !ok || to != string(e.To.Agent) || from != string(e.From.Agent) {
		return e, fmt.Errorf("the envelope is from %s to %s", e.From.Agent, e.To.Agent)
	}
	return e, nil
}

// deleteConsumer deletes the consumer, which the server would do after a minute.
func (r *reader) deleteConsumer(ctx context.Context) {
	if !r.box.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := r.box.js.DeleteConsumer(ctx, r.box.space.stream(), r.name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		r.box.o.OnError(fmt.Errorf("natsbox: delete the consumer, the server does so after a minute: %w", err))
	}
}
