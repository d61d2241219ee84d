package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Server handles each request in a goroutine of its own: a handler may wait for the disk,
// and the connection serves others too.
type Server struct {
	ctx     context.Context
	o       ServerOptions
	methods map[string]method
	slots   chan struct{} // for concurrent requests; nil is no limit
	subject Subject
	conn    *nats.Conn
	sub     *nats.Subscription
	work    sync.WaitGroup

	mu     sync.Mutex
	closed bool   // guarded by mu; no request is accepted any more
	quotas quotas // guarded by mu
}

// ServerOptions configure a Server. The zero value works.
type ServerOptions struct {
	Log           *slog.Logger // nil discards
	Errors        Errors       // that clients can distinguish
	MaxConcurrent int          // concurrent handlers; 0 is no limit
	PerCaller     Quota
	// OneMessage is for callers who cannot receive a reply in parts.
	OneMessage bool
	// Accept reports whether to handle a request. Others get no reply.
	Accept func(Caller) bool
	// Check is called before a request is decoded, even if it has no handler. After an
	// error no handler is called.
	Check func(c Caller, data []byte) error
}

// Caller identifies a request and who sent it.
type Caller struct {
	Name    string // the {caller} of the subject
	Method  string
	Subject string
	Reply   string // subject of the reply; "" if none

	after *[]func()
}

// After registers f to be called after the reply was sent.
func (c Caller) After(f func()) { *c.after = append(*c.after, f) }

// method is a Method with its handler.
type method struct {
	class  Class
	within time.Duration
	oneWay bool
	handle func(ctx context.Context, c Caller, data []byte) (any, error)
}

// NewServer returns a server whose handlers run until ctx ends.
func NewServer(ctx context.Context, o ServerOptions) *Server {
	s := &Server{ctx: ctx, o: o, methods: map[string]method{}, quotas: quotas{limits: o.PerCaller}}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxConcurrent > 0 {
		s.slots = make(chan struct{}, o.MaxConcurrent)
	}
	return s
}

// Handle registers the handler of a method. Call it before Open.
func Handle[In, Out any](s *Server, m Method[In, Out], f func(context.Context, Caller, In) (Out, error)) {
	s.methods[m.Name] = method{class: m.Class, within: m.Within, handle: func(ctx context.Context, c Caller, data []byte) (any, error) {
		var in In
		if err := decode(data, &in); err != nil {
			var none Out
			return none, err
		}
		return f(ctx, c, in)
	}}
}

// HandleOneWay registers a handler for messages without a reply; it gets them in order. It
// must not block, since it delays every other message. Call it before Open.
func HandleOneWay[In any](s *Server, m Method[In, None], f func(Caller, In)) {
	Handle(s, m, func(_ context.Context, c Caller, in In) (None, error) {
		f(c, in)
		return None{}, nil
	})
	one := s.methods[m.Name]
	one.oneWay = true
	s.methods[m.Name] = one
}

func decode(data []byte, in any) error {
	switch raw, is := in.(*Raw); {
	case is:
		*raw = data
		return nil
	case len(bytes.TrimSpace(data)) == 0:
		return nil
	}
	if err := json.Unmarshal(data, in); err != nil {
		return fmt.Errorf("the request is not valid: %w", err)
	}
	return nil
}

// Methods returns the sorted names of the methods of some classes, or of all.
func (s *Server) Methods(classes ...Class) []string {
	var names []string
	for name, m := range s.methods {
		if len(classes) == 0 || slices.Contains(classes, m.class) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Open starts to accept requests.
func (s *Server) Open(conn *nats.Conn, subject Subject) (err error) {
	s.conn, s.subject = conn, subject
	s.sub, err = conn.Subscribe(subject.pattern(), s.receive)
	return err
}

func (s *Server) receive(m *nats.Msg) {
	c := Caller{Subject: m.Subject, Reply: m.Reply, after: new([]func())}
	c.Name, c.Method = s.subject.parse(m.Subject)
	if s.o.Accept != nil && !s.o.Accept(c) {
		return
	}
	if s.methods[c.Method].oneWay {
		if _, err := s.handle(c, m.Data); err != nil {
			s.o.Log.Warn("a message could not be read", "subject", m.Subject, "error", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case !s.quotas.begin(c.Name, len(m.Data), time.Now()):
		s.respond(m, nil, ErrTooMany)
	case s.slots == nil:
		s.work.Go(func() { s.serve(m, c) })
	default:
		select {
		case s.slots <- struct{}{}:
			s.work.Go(func() {
				defer func() { <-s.slots }()
				s.serve(m, c)
			})
		default:
			s.quotas.end(c.Name)
			s.respond(m, nil, ErrBusy)
		}
	}
}

// serve answers a request that was counted.
func (s *Server) serve(m *nats.Msg, c Caller) {
	s.answer(m, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotas.end(c.Name)
}

func (s *Server) answer(m *nats.Msg, c Caller) {
	out, err := s.handle(c, m.Data)
	s.respond(m, out, err)
	if len(*c.after) == 0 {
		return
	}
	if err := s.conn.FlushTimeout(flushTimeout); err != nil {
		s.o.Log.Warn("a reply may not have arrived", "subject", m.Subject, "error", err)
	}
	for _, f := range *c.after {
		f()
	}
}

// flushTimeout bounds the wait for a reply to be sent before the calls of After.
const flushTimeout = 3 * time.Second

func (s *Server) handle(c Caller, data []byte) (any, error) {
	if s.o.Check != nil {
		if err := s.o.Check(c, data); err != nil {
			return nil, err
		}
	}
	m, known := s.methods[c.Method]
	if !known {
		return nil, fmt.Errorf("there is no request %q; there are %s", c.Method, strings.Join(slices.Sorted(maps.Keys(s.methods)), ", "))
	}
	ctx := s.ctx
	if m.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.within)
		defer cancel()
	}
	return m.handle(ctx, c, data)
}

func (s *Server) respond(m *nats.Msg, out any, err error) {
	if m.Reply == "" {
		return
	}
	raw, failed := s.encode(out, err)
	if most := int(s.conn.MaxPayload()); s.o.OneMessage && len(raw) > most {
		raw, failed = s.encode(nil, fmt.Errorf("the reply has %d bytes and a message of this server holds at most %d; request less", len(raw), most))
	}
	if failed == nil {
		failed = respond(s.conn, m, raw)
	}
	if failed != nil {
		s.o.Log.Warn("a request could not be answered", "subject", m.Subject, "error", failed)
	}
}

func (s *Server) encode(out any, failed error) ([]byte, error) {
	raw := []byte("{}")
	var err error
	if out != nil {
		if raw, err = json.Marshal(out); err != nil {
			raw, failed = nil, errors.Join(failed, fmt.Errorf("encode the reply: %w", err))
		}
	}
	if failed == nil {
		return raw, nil
	}
	head, err := s.o.Errors.encode(failed)
	return join(head, raw), err
}

// Close stops accepting requests and waits for running handlers. It is called after the
// server's context has ended, and may be called more than once.
func (s *Server) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	var err error
	if !closed && s.sub != nil {
		err = s.sub.Unsubscribe()
	}
	s.work.Wait()
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}
