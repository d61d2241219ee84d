package natsbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// checkInterval is how often the stream is compared with the cursor without a reconnect.
const checkInterval = 10 * time.Second

// watch replaces the consumer at each reconnect, which compares the stream with the cursor.
// It also compares them when the stream may have been replaced, and at intervals.
func (b *Box) watch(ctx context.Context) {
	connected := b.nc.StatusChanged(nats.CONNECTED)
	defer b.nc.RemoveStatusListener(connected)
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-connected:
			if !open {
				connected = nil // the connection is closed for good
				continue
			}
			b.throttle.reset()
			b.reader.reopen()
		case <-b.checkRequested:
			if err := b.checkStream(ctx); err != nil && ctx.Err() == nil {
				b.o.OnError(err)
			}
		case <-tick.C:
			if err := b.checkStream(ctx); err != nil && ctx.Err() == nil {
				b.o.OnError(err)
			}
		}
	}
}

// requestCheck makes watch check the stream; it never blocks.
func (b *Box) requestCheck() {
	select {
	case b.checkRequested <- struct{}{}:
	default:
	}
}

// checkStream compares the stream with the cursor, and purges it.
func (b *Box) checkStream(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	st, err := b.find(ctx)
	if err != nil {
		return err
	}
	at := b.reader.cursor() // before the request, since reading continues meanwhile
	info, err := b.info(ctx, st)
	if err != nil {
		return err
	}
	if at.Stream != info.Created.UnixNano() || at.Seq > info.State.LastSeq {
		b.reader.reopen()
		return nil
	}
	return b.purge.run(ctx, st, info.Created.UnixNano())
}

func (b *Box) info(ctx context.Context, st jetstream.Stream) (*jetstream.StreamInfo, error) {
	info, err := st.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("natsbox: read the state of the stream %s: %w", b.space.stream(), err)
	}
	return info, nil
}

// purge holds the position through which the stream may be purged.
type purge struct {
	mu    sync.Mutex
	noted mailbox.Cursor
	done  mailbox.Cursor
}

func (p *purge) note(through mailbox.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noted = through
}

func (p *purge) run(ctx context.Context, st jetstream.Stream, created int64) error {
	p.mu.Lock()
	noted := p.noted
	idle := noted == p.done || noted.Stream != created
	p.mu.Unlock()
	if idle {
		return nil
	}
	if err := st.Purge(ctx, jetstream.WithPurgeSequence(noted.Seq+1)); err != nil {
		return fmt.Errorf("natsbox: purge the stream: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = noted
	return nil
}
