package event

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is the error of a closed bus or subscription without unread facts.
var ErrClosed = errors.New("event: closed")

// lossyAbove is how many unread facts a subscriber may have before it loses deltas.
const lossyAbove = 256

// Bus delivers facts to its subscribers. Its methods may be called from any goroutine. The
// zero value is ready to use.
type Bus struct {
	mu     sync.Mutex
	seq    uint64          // guarded by mu
	subs   []*Subscription // guarded by mu
	closed bool            // guarded by mu
}

// Publish queues the fact for every subscriber and does not wait for any of them.
func (b *Bus) Publish(about Agent, f Fact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.subs) == 0 {
		return
	}
	b.seq++
	e := Event{Seq: b.seq, Time: time.Now(), Agent: about, Fact: f}
	_, lossy := f.(Delta)
	for _, s := range b.subs {
		s.offer(e, lossy)
	}
}

// HasSubscribers reports whether there are subscribers. Without any a publisher need not
// build a fact.
func (b *Bus) HasSubscribers() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs) > 0
}

// Subscribe returns a subscription to every fact published from now on. The
// caller must Close it.
func (b *Bus) Subscribe() *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscription{bus: b, ready: make(chan struct{}, 1), closed: b.closed}
	if !b.closed {
		b.subs = append(b.subs, s)
	}
	return s
}

// Close ends every subscription once its reader has read what was published.
// It may be called more than once.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subs {
		s.finish()
	}
	b.subs = nil
}

func (b *Bus) drop(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := make([]*Subscription, 0, len(b.subs))
	for _, other := range b.subs {
		if other != s {
			kept = append(kept, other)
		}
	}
	b.subs = kept
}

// Subscription is one observer's queue. Next must be called from one goroutine
// at a time; Close from any.
type Subscription struct {
	bus   *Bus
	ready chan struct{} // pending signal: there may be a fact

	mu     sync.Mutex
	queue  []Event // guarded by mu
	missed int     // deltas dropped, guarded by mu
	closed bool    // guarded by mu
}

func (s *Subscription) offer(e Event, lossy bool) {
	s.mu.Lock()
	switch {
	case s.closed:
	case lossy && len(s.queue) >= lossyAbove:
		s.missed++
	default:
		s.queue = append(s.queue, e)
	}
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *Subscription) finish() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
}

// Next returns the next fact and waits for one if necessary. It returns ErrClosed after
// Close, or when the bus is closed and everything is read, and the cause of ctx when ctx
// ends first.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		e, ok, closed := s.take()
		switch {
		case ok:
			return e, nil
		case closed:
			s.signal() // the next call must not block either
			return Event{}, ErrClosed
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

func (s *Subscription) take() (e Event, ok, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Event{}, false, s.closed
	}
	e = s.queue[0]
	s.queue[0] = Event{}
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return e, true, false
}

// Missed returns how many deltas were dropped because the reader was behind.
func (s *Subscription) Missed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed
}

// Close ends the subscription and drops what was not read. It may be called
// more than once and from any goroutine.
func (s *Subscription) Close() {
	s.bus.drop(s)
	s.mu.Lock()
	s.queue, s.closed = nil, true
	s.mu.Unlock()
	s.signal()
}
