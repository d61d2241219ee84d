// Package modeltest is the kit for code that talks to models: a fake Model made of Go
// functions, a loopback server that speaks a provider's protocol and can misbehave in every
// way a provider can, and the suite that every provider passes.
//
//	fake := modeltest.Script(modeltest.Call("c1", "Read", input), modeltest.Text("Done."))
//	answer, err := model.Complete(ctx, fake, modeltest.Request("Read the file."))
//
//	server := modeltest.NewServer(t, modeltest.Anthropic, modeltest.Replies(modeltest.Say("ok")))
//	client, err := anthropic.New(anthropic.Options{BaseURL: server.URL})
//
// Everything here is safe for concurrent use. A Server records each request before it
// answers it, so a test that has the answer finds the request.
package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Recorded is one request as it came over the wire.
type Recorded struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Messages returns the members of the list "messages", byte for byte.
func (r Recorded) Messages() []json.RawMessage {
	var w struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &w); err != nil {
		panic(fmt.Sprintf("modeltest: a recorded body is not JSON: %v", err))
	}
	return w.Messages
}

// Server is a loopback server. Close ends it, also its stalled answers.
type Server struct {
	*httptest.Server

	wire  Wire
	reply func(n int, r Recorded) Reply
	done  chan struct{}
	stop  sync.Once

	mu       sync.Mutex
	requests []Recorded // guarded by mu
}

// NewServer starts a server that asks reply how to answer request n, counted
// from 0. reply is called concurrently. The server ends with the test.
func NewServer(tb testing.TB, wire Wire, reply func(n int, r Recorded) Reply) *Server {
	s := &Server{wire: wire, reply: reply, done: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	tb.Cleanup(s.Close)
	return s
}

// Replies answers the n-th request with the n-th reply and all later ones with
// the last.
func Replies(replies ...Reply) func(int, Recorded) Reply {
	return func(n int, _ Recorded) Reply { return replies[min(n, len(replies)-1)] }
}

// Close ends the server. It may be called twice.
func (s *Server) Close() {
	s.stop.Do(func() {
		close(s.done)
		s.Server.Close()
	})
}

// Requests returns what came so far, in order of arrival.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns in how many requests the bytes of part occur.
func (s *Server) Count(part string) int {
	n := 0
	for _, r := range s.Requests() {
		if bytes.Contains(r.Body, []byte(part)) {
			n++
		}
	}
	return n
}

func (s *Server) record(req *http.Request) (int, Recorded, error) {
	body, err := io.ReadAll(req.Body)
	r := Recorded{Path: req.URL.Path, Header: req.Header.Clone(), Body: body}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	return len(s.requests) - 1, r, err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	n, recorded, err := s.record(req)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away in the middle
	}
	r := s.reply(n, recorded)
	if r.Ended != nil {
		defer r.Ended()
	}
	if r.Delay > 0 && !s.wait(req, r.Delay) {
		panic(http.ErrAbortHandler)
	}
	for name, values := range r.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	o := output{w: w, to: http.NewResponseController(w)}
	switch {
	case r.Raw != nil:
		o.head(r, "text/event-stream")
		o.send(r.Raw)
	case r.status() >= 400:
		o.head(r, "application/json")
		o.send(s.wire.failure(r.ErrorType, r.ErrorText, false))
	default:
		o.head(r, "text/event-stream")
		s.stream(o, req, r)
	}
}

func (s *Server) stream(o output, req *http.Request, r Reply) {
	events, _ := s.wire.events(r)
	breaks := r.Pings > 0 || r.Stall || r.Cut || r.ErrorType != ""
	if !breaks {
		for _, e := range events {
			o.send(e)
		}
		return
	}
	for _, e := range events[:min(r.After, len(events))] {
		o.send(e)
	}
	switch {
	case r.Pings > 0:
		for s.wait(req, r.Pings) {
			o.send(s.wire.ping())
		}
	case r.Stall:
		s.wait(req, time.Hour)
	case r.ErrorType != "":
		o.send(s.wire.failure(r.ErrorType, r.ErrorText, true))
		return
	}
	panic(http.ErrAbortHandler)
}

// wait reports whether the time passed before the client or the server ended.
func (s *Server) wait(req *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-req.Context().Done():
	case <-s.done:
	}
	return false
}

type output struct {
	w  http.ResponseWriter
	to *http.ResponseController
}

func (o output) head(r Reply, contentType string) {
	if o.w.Header().Get("Content-Type") == "" {
		o.w.Header().Set("Content-Type", contentType)
	}
	o.w.WriteHeader(r.status())
	o.flush()
}

func (o output) send(b []byte) {
	if _, err := o.w.Write(b); err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	o.flush()
}

func (o output) flush() {
	if err := o.to.Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// NewInstant starts a server that gives every request the same answer, encoded
// beforehand and written at once, and records nothing: for benchmarks.
func NewInstant(tb testing.TB, wire Wire, r Reply) *httptest.Server {
	events, _ := wire.events(r)
	answer := slices.Concat(events...)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if _, err := w.Write(answer); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	tb.Cleanup(s.Close)
	return s
}

var _ http.Handler = (*Server)(nil)
