package natsbox

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

const (
	retryDelay    = 100 * time.Millisecond // pause after the first failed receive
	maxRetryDelay = 30 * time.Second       // longest pause
)

func (b *Bus) wake(agent mailbox.AgentID) {
	b.mu.Lock()
	a := b.agents[agent]
	b.mu.Unlock()
	if a == nil {
		return
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// dispatch delivers the mail of one agent until the bus closes.
func (b *Bus) dispatch(id mailbox.AgentID, a *local) {
	for b.ctx.Err() == nil {
		for _, e := range b.unread(a) {
			if !b.deliver(a, e) {
				return
			}
		}
		if len(b.unread(a)) > 0 {
			continue
		}
		select {
		case <-b.ctx.Done():
		case <-a.wake:
		}
	}
}

func (b *Bus) unread(a *local) []mailbox.Envelope {
	b.mu.Lock()
	defer b.mu.Unlock()
	return a.ledger.Unread()
}

// deliver calls receive until it succeeds, and reports whether the bus still runs.
func (b *Bus) deliver(a *local, e mailbox.Envelope) bool {
	pause := retryDelay
	for b.ctx.Err() == nil {
		err := a.receive(e)
		if err == nil {
			return b.markRead(a, e)
		}
		b.o.OnError(fmt.Errorf("natsbox: %s failed to receive message %s from %s, it is delivered again in %v: %w", e.To.Agent, e.ID, e.From.Agent, pause, err))
		select {
		case <-b.ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, maxRetryDelay)
		}
	}
	return false
}

// markRead records that e is read and waits for the disk before the next message is
// delivered, so that a crash repeats one message at most.
func (b *Bus) markRead(a *local, e mailbox.Envelope) bool {
	b.mu.Lock()
	ticket := b.journal.Append(string(e.To.Agent), recordRead, []byte(e.ID))
	a.ledger.Read(e.ID)
	through := a.ledger.Mark(e.From.Agent)
	b.mu.Unlock()
	if err := ticket.Wait(); err != nil {
		b.o.OnError(fmt.Errorf("natsbox: store that %s has read message %s; it receives no mail until a restart: %w", e.To.Agent, e.ID, err))
		return false
	}
	b.courier.SendReceipt(mailbox.Receipt{
		From: e.To, To: e.From, State: mailbox.StateRead, Through: through, IDs: []mailbox.ID{e.ID},
	})
	return true
}
