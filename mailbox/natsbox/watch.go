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

// lookEvery is how often the stream is compared with what was read of it, when
// no reconnect has caused that.
const lookEvery = 10 * time.Second

// watch looks after the stream: at each reconnect the consumer is made again,
// which compares the stream with the cursor; it is compared too when something
// hints that the stream is another, and now and then anyway.
func (b *Box) watch(ctx context.Context) {
	connected := b.nc.StatusChanged(nats.CONNECTED)
	defer b.nc.RemoveStatusListener(connected)
	tick := time.NewTicker(lookEvery)
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
			b.gate.reset()
			b.reader.reopen()
		case <-b.kick:
			if err := b.look(ctx); err != nil && ctx.Err() == nil {
				b.o.OnTrouble(err)
			}
		case <-tick.C:
			if err := b.look(ctx); err != nil && ctx.Err() == nil {
				b.o.OnTrouble(err)
			}
		}
	}
}

// hint makes watch look; it never waits.
func (b *Box) hint() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// look compares the stream with what was read of it, and purges it.
func (b *Box) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	st, err := b.find(ctx)
	if err != nil {
		return err
	}
	at := b.reader.cursor() // before the look, which others may outrun
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
		return nil, fmt.Errorf("natsbox: look at the stream %s: %w", b.space.stream(), err)
	}
	return info, nil
}

// purge remembers what may go.
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
		return fmt.Errorf("natsbox: purge what is recorded: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = noted
	return nil
}
