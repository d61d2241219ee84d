package mailboxtest

import (
	"math/rand/v2"
	"sync"

	"github.com/actorswarm/swarm/mailbox"
)

// Faults holds the probability of each fault, from 0 to 1.
type Faults struct {
	Drop, Duplicate, Reorder      float64 // to a published envelope
	DropReceipt, DuplicateReceipt float64
}

// FaultyTransport loses, duplicates and reorders envelopes and receipts.
type FaultyTransport struct {
	mailbox.Transport

	mu       sync.Mutex
	rand     *rand.Rand
	faults   Faults
	held     []mailbox.Envelope // published after the next one
	injected int
}

// Faulty wraps t; the same seed and calls give the same faults.
func Faulty(t mailbox.Transport, seed uint64, f Faults) *FaultyTransport {
	return &FaultyTransport{Transport: t, rand: rand.New(rand.NewPCG(seed, 1)), faults: f}
}

// Heal ends the faults.
func (f *FaultyTransport) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = Faults{}
}

// Injected returns how many faults have happened.
func (f *FaultyTransport) Injected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

func (f *FaultyTransport) chance(p float64) bool {
	if p <= 0 || f.rand.Float64() >= p {
		return false
	}
	f.injected++
	return true
}

// Publish implements mailbox.Transport.
func (f *FaultyTransport) Publish(e mailbox.Envelope) error {
	for _, e := range f.envelopes(e) {
		if err := f.Transport.Publish(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *FaultyTransport) envelopes(e mailbox.Envelope) []mailbox.Envelope {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []mailbox.Envelope
	switch {
	case f.chance(f.faults.Drop):
	case f.chance(f.faults.Duplicate):
		out = append(out, e, e)
	case f.chance(f.faults.Reorder):
		f.held = append(f.held, e)
		return nil
	default:
		out = append(out, e)
	}
	out = append(out, f.held...)
	f.held = nil
	return out
}

// PublishReceipt implements mailbox.Transport.
func (f *FaultyTransport) PublishReceipt(r mailbox.Receipt) error {
	f.mu.Lock()
	drop, double := f.chance(f.faults.DropReceipt), f.chance(f.faults.DuplicateReceipt)
	f.mu.Unlock()
	if drop {
		return nil
	}
	if double {
		if err := f.Transport.PublishReceipt(r); err != nil {
			return err
		}
	}
	return f.Transport.PublishReceipt(r)
}
