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

// Server answers requests, each in a goroutine of its own: a handler may wait for the
// disk, and the connection serves others too.
type Server struct {
	ctx     context.Context
	o       ServerOptions
	methods map[string]method
	places  chan struct{} // of requests at once; nil is no limit
	subject Subject
	conn    *nats.Conn
	sub     *nats.Subscription
	work    sync.WaitGroup

	mu     sync.Mutex
	closed bool // guarded by mu; no request is taken any more
}

// ServerOptions say what a server takes. The zero value works.
type ServerOptions struct {
	Log    *slog.Logger // nil discards
	Errors Errors       // that clients are to know again
	AtOnce int          // handlers that run at once; 0 is no limit
	// OneMessage is for callers who take no reply in parts.
	OneMessage bool
	// Accept says whether a request is taken at all. One that is not gets no reply.
	Accept func(Caller) bool
	// Check is called before a request is decoded, also one that has no handler. With an
	// error no handler is called.
	Check func(c Caller, data []byte) error
}

// Caller is who makes a request, and which.
type Caller struct {
	Name    string // the {caller} of the subject
	Method  string
	Subject string
	Reply   string // where the reply goes; "" is nowhere

	after *[]func()
}

// After has f called when the reply has been sent.
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
	s := &Server{ctx: ctx, o: o, methods: map[string]method{}}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	if o.AtOnce > 0 {
		s.places = make(chan struct{}, o.AtOnce)
	}
	return s
}

// Handle lets f answer a method. It is called before Open.
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

// HandleOneWay lets f take messages that nobody waits for, in their order. It must
// not wait: no other message is read meanwhile. It is called before Open.
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

// Methods returns the names of the methods of some classes, sorted; of all without one.
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

// Open begins to take requests.
func (s *Server) Open(conn *nats.Conn, subject Subject) (err error) {
	s.conn, s.subject = conn, subject
	s.sub, err = conn.Subscribe(subject.pattern(), s.take)
	return err
}

func (s *Server) take(m *nats.Msg) {
	c := Caller{Subject: m.Subject, Reply: m.Reply, after: new([]func())}
	c.Name, c.Method = s.subject.parse(m.Subject)
	if s.o.Accept != nil && !s.o.Accept(c) {
		return
	}
	if s.methods[c.Method].oneWay {
		if _, err := s.do(c, m.Data); err != nil {
			s.o.Log.Warn("a message could not be read", "subject", m.Subject, "error", err)
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case s.places == nil:
		s.work.Go(func() { s.answer(m, c) })
	default:
		select {
		case s.places <- struct{}{}:
			s.work.Go(func() {
				defer func() { <-s.places }()
				s.answer(m, c)
			})
		default:
			s.respond(m, nil, ErrBusy)
		}
	}
}

func (s *Server) answer(m *nats.Msg, c Caller) {
	out, err := s.do(c, m.Data)
	s.respond(m, out, err)
	if len(*c.after) == 0 {
		return
	}
	if err := s.conn.FlushTimeout(flushWithin); err != nil {
		s.o.Log.Warn("a reply may not have arrived", "subject", m.Subject, "error", err)
	}
	for _, f := range *c.after {
		f()
	}
}

// flushWithin is how long a server waits for a reply to leave, before what comes
// after it.
const flushWithin = 3 * time.Second

func (s *Server) do(c Caller, data []byte) (any, error) {
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
		raw, failed = s.encode(nil, fmt.Errorf("the answer has %d bytes and a message of this server holds %d; ask for less", len(raw), most))
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

// Close takes no more requests and waits for the handlers that run. It is called once
// the server's context has ended, and may be called more than once.
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
