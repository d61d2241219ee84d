package mailbox

import (
	"context"
	"sync"
	"time"
)

// memoryLimit is how many envelopes a stream in memory holds. It drops the oldest, and
// their senders send them again.
const memoryLimit = 1 << 16

// Memory is a Transport between nodes of one process: one end of a stream in memory.
// NewMemory makes a stream with one end, Join adds ends. Everything in the stream is
// delivered to every end.
type Memory struct {
	stream    *memoryStream
	lifecycle lifecycle
	arrived   chan struct{} // pending signal: the stream may have changed
	receipts  *queue[Receipt]
	at        Cursor // guarded by stream.mu: delivered up to here
	forgotten Cursor // guarded by stream.mu
}

// NewMemory returns the first end of a new, empty stream.
func NewMemory() *Memory {
	s := &memoryStream{created: time.Now().UnixNano(), first: 1, ends: make(map[*Memory]struct{})}
	return (&Memory{stream: s}).Join()
}

// Join returns another end of the same stream.
func (m *Memory) Join() *Memory {
	return &Memory{stream: m.stream, arrived: make(chan struct{}, 1), receipts: newQueue[Receipt]()}
}

// Lose drops the newest n envelopes and gives the stream a new identity, like a server
// that was restored from an older copy of its store. It is for tests of code over a
// Transport.
func (m *Memory) Lose(n int) { m.stream.lose(n) }

// Start implements Transport.
func (m *Memory) Start(ctx context.Context, from Cursor, deliver func(Envelope, Cursor), receipt func(Receipt)) error {
	ctx, err := m.lifecycle.start(ctx)
	if err != nil {
		return err
	}
	m.stream.attach(m, from)
	m.lifecycle.running.Go(func() {
		defer m.stream.detach(m)
		m.deliver(ctx, deliver)
	})
	m.lifecycle.running.Go(func() { m.receipts.each(ctx, receipt) })
	return nil
}

func (m *Memory) deliver(ctx context.Context, deliver func(Envelope, Cursor)) {
	for ctx.Err() == nil {
		if e, c, ok := m.stream.next(m); ok {
			deliver(e, c)
			continue
		}
		select {
		case <-ctx.Done():
		case <-m.arrived:
		}
	}
}

// Publish implements Transport.
func (m *Memory) Publish(e Envelope) error {
	m.lifecycle.mu.Lock()
	stopped := m.lifecycle.stopped
	m.lifecycle.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	m.stream.store(e)
	return nil
}

// PublishReceipt implements Transport.
func (m *Memory) PublishReceipt(r Receipt) error {
	for _, end := range m.stream.snapshot() {
		end.receipts.put(r)
	}
	return nil
}

// Forget implements Transport. The stream drops what every end has forgotten.
func (m *Memory) Forget(through Cursor) error {
	m.stream.forget(m, through)
	return nil
}

// Stop implements Transport.
func (m *Memory) Stop() error {
	m.lifecycle.stop()
	m.lifecycle.running.Wait()
	return nil
}

// memoryStream is the stream that the ends share.
type memoryStream struct {
	mu      sync.Mutex
	created int64
	first   uint64 // number of log[0]
	log     []Envelope
	ends    map[*Memory]struct{}
}

func (s *memoryStream) attach(m *Memory, from Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.at = from
	s.ends[m] = struct{}{}
}

func (s *memoryStream) detach(m *Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ends, m)
}

func (s *memoryStream) snapshot() []*Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := make([]*Memory, 0, len(s.ends))
	for m := range s.ends {
		ends = append(ends, m)
	}
	return ends
}

func (s *memoryStream) store(e Envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, e)
	s.drop(len(s.log) - memoryLimit)
	s.notify()
}

func (s *memoryStream) notify() {
	for m := range s.ends {
		signal(m.arrived)
	}
}

// drop removes the oldest n.
func (s *memoryStream) drop(n int) {
	if n <= 0 {
		return
	}
	clear(s.log[:n])
	s.log = s.log[n:]
	s.first += uint64(n)
}

func (s *memoryStream) lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := max(0, len(s.log)-n)
	clear(s.log[keep:])
	s.log = s.log[:keep]
	s.created++
	s.notify()
}

func (s *memoryStream) next(m *Memory) (Envelope, Cursor, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.at.Stream != s.created || m.at.Seq < s.first-1 || m.at.Seq >= s.first+uint64(len(s.log)) {
		m.at = Cursor{Stream: s.created, Seq: s.first - 1}
	}
	i := m.at.Seq + 1 - s.first
	if i >= uint64(len(s.log)) {
		return Envelope{}, Cursor{}, false
	}
	m.at.Seq++
	return s.log[i], m.at, true
}

func (s *memoryStream) forget(m *Memory, through Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.forgotten = through
	least := through.Seq
	for end := range s.ends {
		if end.forgotten.Stream != s.created {
			return
		}
		least = min(least, end.forgotten.Seq)
	}
	if through.Stream == s.created && least >= s.first {
		s.drop(int(min(least-s.first+1, uint64(len(s.log)))))
	}
}
