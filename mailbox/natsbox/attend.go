package natsbox

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

const (
	againAfter = 100 * time.Millisecond // pause after a receive that failed
	againLimit = 30 * time.Second       // longest pause
)

func (b *Bus) wakeUp(agent mailbox.AgentID) {
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

// attend gives an agent its mail until the bus closes.
func (b *Bus) attend(id mailbox.AgentID, a *local) {
	for b.ctx.Err() == nil {
		for _, e := range b.unread(a) {
			if !b.hand(a, e) {
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

// hand calls receive until it takes e, and reports whether the bus goes on.
func (b *Bus) hand(a *local, e mailbox.Envelope) bool {
	pause := againAfter
	for b.ctx.Err() == nil {
		err := a.receive(e)
		if err == nil {
			return b.read(a, e)
		}
		b.o.OnTrouble(fmt.Errorf("natsbox: %s did not take message %s from %s, it gets it again in %v: %w", e.To.Agent, e.ID, e.From.Agent, pause, err))
		select {
		case <-b.ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, againLimit)
		}
	}
	return false
}

// read waits for the disk before the next message is handed out, so that a crash
// repeats one message at most.
func (b *Bus) read(a *local, e mailbox.Envelope) bool {
	b.mu.Lock()
	ticket := b.journal.Append(string(e.To.Agent), recordRead, []byte(e.ID))
	a.ledger.Read(e.ID)
	through := a.ledger.Mark(e.From.Agent)
	b.mu.Unlock()
	if err := ticket.Wait(); err != nil {
		b.o.OnTrouble(fmt.Errorf("natsbox: that %s has read message %s could not be stored, it gets no more mail until a restart: %w", e.To.Agent, e.ID, err))
		return false
	}
	b.courier.Receipt(mailbox.Receipt{
		From: e.To, To: e.From, State: mailbox.StateRead, Through: through, IDs: []mailbox.ID{e.ID},
	})
	return true
}
