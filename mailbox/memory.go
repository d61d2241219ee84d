package mailbox

import (
	"context"
	"sync"
	"time"
)

// memoryKept is how many envelopes an in-memory stream holds; the oldest make
// room, and their senders send them again.
const memoryKept = 1 << 16

// Memory is a Transport between nodes of one process that stores nothing: one
// end of a stream in memory. NewMemory makes a stream with one end, Join adds
// ends. What is in the stream is delivered to every end.
type Memory struct {
	stream   *memoryStream
	life     life
	arrived  chan struct{} // something may have been stored
	receipts *queue[Receipt]
	at       Cursor // guarded by stream.mu: delivered up to here
	forgot   Cursor // guarded by stream.mu
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

// Lose takes the newest n envelopes out of the stream and makes it another one,
// as a server does that comes back with an older copy of its store. It is for
// tests of what runs over a Transport.
func (m *Memory) Lose(n int) { m.stream.lose(n) }

// Start implements Transport.
func (m *Memory) Start(ctx context.Context, from Cursor, deliver func(Envelope, Cursor), receipt func(Receipt)) error {
	ctx, err := m.life.start(ctx)
	if err != nil {
		return err
	}
	m.stream.enter(m, from)
	m.life.running.Go(func() {
		defer m.stream.leave(m)
		m.deliver(ctx, deliver)
	})
	m.life.running.Go(func() { m.receipts.each(ctx, receipt) })
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
	m.life.mu.Lock()
	stopped := m.life.stopped
	m.life.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	m.stream.store(e)
	return nil
}

// Receipt implements Transport.
func (m *Memory) Receipt(r Receipt) error {
	for _, end := range m.stream.all() {
		end.receipts.put(r)
	}
	return nil
}

// Forget implements Transport. What every end forgot is dropped.
func (m *Memory) Forget(through Cursor) error {
	m.stream.forget(m, through)
	return nil
}

// Stop implements Transport.
func (m *Memory) Stop() error {
	m.life.end()
	m.life.running.Wait()
	return nil
}

// memoryStream is what the ends share.
type memoryStream struct {
	mu      sync.Mutex
	created int64
	first   uint64 // number of log[0]
	log     []Envelope
	ends    map[*Memory]struct{}
}

func (s *memoryStream) enter(m *Memory, from Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.at = from
	s.ends[m] = struct{}{}
}

func (s *memoryStream) leave(m *Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ends, m)
}

func (s *memoryStream) all() []*Memory {
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
	s.drop(len(s.log) - memoryKept)
	s.tell()
}

func (s *memoryStream) tell() {
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
	s.tell()
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
	m.forgot = through
	least := through.Seq
	for end := range s.ends {
		if end.forgot.Stream != s.created {
			return
		}
		least = min(least, end.forgot.Seq)
	}
	if through.Stream == s.created && least >= s.first {
		s.drop(int(min(least-s.first+1, uint64(len(s.log)))))
	}
}
