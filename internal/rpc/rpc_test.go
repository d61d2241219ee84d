package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/nats-io/nats.go"
)

type text struct {
	Text string `json:"text,omitempty"`
}

var echo = rpc.Method[text, text]{Name: "echo", Class: rpc.Observe}

const subject rpc.Subject = "app.{caller}.{method}"

// connected returns a connection to a NATS server.
func connected(t *testing.T) *nats.Conn {
	t.Helper()
	server, err := natsd.Start(t.Context(), natsd.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := server.Conn("test")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// serving opens a server that answers echo by f, and returns a client of it.
func serving(t *testing.T, o rpc.ServerOptions, f func(context.Context, rpc.Caller, text) (text, error)) (*rpc.Client, *nats.Conn) {
	t.Helper()
	conn := connected(t)
	s := rpc.NewServer(t.Context(), o)
	rpc.Handle(s, echo, f)
	open(t, s, conn)
	return rpc.NewClient(conn, subject.From("ann"), rpc.ClientOptions{Errors: o.Errors}), conn
}

func open(t *testing.T, s *rpc.Server, conn *nats.Conn) {
	t.Helper()
	if err := s.Open(conn, subject); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// raw asks as a program does that knows nothing of this package.
func raw(t *testing.T, conn *nats.Conn, subject, data string) string {
	t.Helper()
	m, err := conn.Request(subject, []byte(data), 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Data)
}

func TestAnErrorComesWithTheOutput(t *testing.T) {
	client, conn := serving(t, rpc.ServerOptions{}, func(_ context.Context, c rpc.Caller, in text) (text, error) {
		if in.Text == "" {
			return text{}, errors.New("it is empty")
		}
		return text{c.Name + " says " + in.Text}, errors.New("half is missing")
	})
	out, err := rpc.Call(soon(t), client, echo, text{"hello"})
	if out.Text != "ann says hello" || err == nil || err.Error() != "half is missing" {
		t.Errorf("%+v, %v", out, err)
	}
	for data, want := range map[string]string{
		`{"text":"x"}`: `{"error":"half is missing","text":"ben says x"}`,
		``:             `{"error":"it is empty"}`,
	} {
		if got := raw(t, conn, "app.ben.echo", data); got != want {
			t.Errorf("%s is answered by %s", data, got)
		}
	}
}

type brokenError struct{ Part string }

func (e *brokenError) Error() string { return e.Part + " is broken" }

func TestKnownErrorsKeepTheirIdentity(t *testing.T) {
	known := rpc.Errors{rpc.Value("fs.missing", 7, fs.ErrNotExist), rpc.Value("fs.there", 0, fs.ErrExist), rpc.Type[*brokenError]("broken")}
	fails := map[string]error{
		"missing": fmt.Errorf("look: %w", fs.ErrNotExist),
		"there":   fs.ErrExist,
		"broken":  &brokenError{"a wheel"},
		"within":  fmt.Errorf("drive: %w", &brokenError{"a wheel"}),
		"else":    fs.ErrClosed,
	}
	client, conn := serving(t, rpc.ServerOptions{Errors: known}, func(_ context.Context, _ rpc.Caller, in text) (text, error) {
		return text{}, fails[in.Text]
	})
	for what, want := range fails {
		_, err := rpc.Call(soon(t), client, echo, text{what})
		if err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v", what, err)
		}
		for _, is := range []error{fs.ErrNotExist, fs.ErrExist} {
			if errors.Is(err, is) != errors.Is(want, is) {
				t.Errorf("%s: that it is %v is said wrongly", what, is)
			}
		}
		var broken *brokenError
		if is := errors.As(err, &broken); is != errors.As(want, new(*brokenError)) || is && broken.Part != "a wheel" {
			t.Errorf("%s: %#v", what, err)
		}
	}
	for what, want := range map[string]string{
		"missing": `{"error":"look: file does not exist","code":7,"error_name":"fs.missing"}`,
		"broken":  `{"error":"a wheel is broken","broken":{"Part":"a wheel"}}`,
	} {
		if got := raw(t, conn, "app.ann.echo", `{"text":"`+what+`"}`); got != want {
			t.Errorf("%s is answered by %s", what, got)
		}
	}
}

// TestErrorsAreKnownByTheirNumber has a peer that knows no names.
func TestErrorsAreKnownByTheirNumber(t *testing.T) {
	conn := connected(t)
	answers, err := conn.Subscribe("app.ann.echo", func(m *nats.Msg) { _ = m.Respond([]byte(`{"error":"gone","code":7}`)) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answers.Unsubscribe() }()
	client := rpc.NewClient(conn, subject.From("ann"), rpc.ClientOptions{Errors: rpc.Errors{rpc.Value("other", 6, fs.ErrExist), rpc.Value("missing", 7, fs.ErrNotExist)}})
	if _, err := rpc.Call(soon(t), client, echo, text{}); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
}

func TestAReplyMayBeLongerThanAMessage(t *testing.T) {
	long := strings.Repeat("long ", 1<<20)
	client, _ := serving(t, rpc.ServerOptions{}, func(context.Context, rpc.Caller, text) (text, error) { return text{long}, nil })
	out, err := rpc.Call(soon(t), client, echo, text{})
	if err != nil || out.Text != long {
		t.Errorf("%d bytes came, %v", len(out.Text), err)
	}
}

func TestAReplyThatDoesNotFitIsAnError(t *testing.T) {
	long := strings.Repeat("long ", 1<<20)
	_, conn := serving(t, rpc.ServerOptions{OneMessage: true}, func(context.Context, rpc.Caller, text) (text, error) { return text{long}, nil })
	if got := raw(t, conn, "app.ann.echo", ``); !strings.Contains(got, `"error":"the reply has`) {
		t.Errorf("it is answered by %.100s", got)
	}
}

func TestAServerSaysThatItIsBusy(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	client, _ := serving(t, rpc.ServerOptions{MaxConcurrent: 1, Errors: rpc.Errors{rpc.Value("busy", 0, rpc.ErrBusy)}}, func(context.Context, rpc.Caller, text) (text, error) {
		entered <- struct{}{}
		<-leave
		return text{}, nil
	})
	var work sync.WaitGroup
	work.Go(func() {
		if _, err := rpc.Call(soon(t), client, echo, text{}); err != nil {
			t.Error(err)
		}
	})
	<-entered
	if _, err := rpc.Call(soon(t), client, echo, text{}); !errors.Is(err, rpc.ErrBusy) {
		t.Errorf("the second one gets %v", err)
	}
	close(leave)
	work.Wait()
}

// TestOneCallerLeavesOthersTheServer: it may make so many requests at once, in a second, and
// of so many bytes.
func TestOneCallerLeavesOthersTheServer(t *testing.T) {
	errs := rpc.Errors{rpc.Value("too many", 0, rpc.ErrTooMany)}
	for name, quota := range map[string]rpc.Quota{"requests": {Requests: 1}, "bytes": {Bytes: 10}} {
		client, conn := serving(t, rpc.ServerOptions{PerCaller: quota, Errors: errs}, func(context.Context, rpc.Caller, text) (text, error) { return text{}, nil })
		var err error
		for range 100 {
			if _, err = rpc.Call(soon(t), client, echo, text{"a"}); err != nil {
				break
			}
		}
		if !errors.Is(err, rpc.ErrTooMany) {
			t.Errorf("%s: a caller gets %v", name, err)
		}
		other := rpc.NewClient(conn, subject.From("zoe"), rpc.ClientOptions{Errors: errs})
		if _, err := rpc.Call(soon(t), other, echo, text{"a"}); err != nil {
			t.Errorf("%s: another gets %v", name, err)
		}
	}
}

func TestOneCallerLeavesOthersAPlace(t *testing.T) {
	errs := rpc.Errors{rpc.Value("too many", 0, rpc.ErrTooMany)}
	entered, leave := make(chan struct{}), make(chan struct{})
	o := rpc.ServerOptions{MaxConcurrent: 2, PerCaller: rpc.Quota{Concurrent: 1}, Errors: errs}
	client, conn := serving(t, o, func(context.Context, rpc.Caller, text) (text, error) {
		entered <- struct{}{}
		<-leave
		return text{}, nil
	})
	var work sync.WaitGroup
	for _, c := range []*rpc.Client{client, rpc.NewClient(conn, subject.From("zoe"), rpc.ClientOptions{Errors: errs})} {
		work.Go(func() {
			if _, err := rpc.Call(soon(t), c, echo, text{}); err != nil {
				t.Error(err)
			}
		})
		<-entered
		if _, err := rpc.Call(soon(t), client, echo, text{}); !errors.Is(err, rpc.ErrTooMany) {
			t.Errorf("a caller in the server gets %v", err)
		}
	}
	close(leave)
	work.Wait()
	go func() { <-entered }()
	if _, err := rpc.Call(soon(t), client, echo, text{}); err != nil {
		t.Errorf("later it gets %v", err)
	}
}

func TestARequestMustBeValid(t *testing.T) {
	checked := errors.New("it is not checked")
	o := rpc.ServerOptions{
		Accept: func(c rpc.Caller) bool { return c.Name != "eve" },
		Check: func(c rpc.Caller, data []byte) error {
			if c.Name == "bob" && c.Method == "echo" && string(data) == "{}" {
				return checked
			}
			return nil
		},
	}
	_, conn := serving(t, o, func(context.Context, rpc.Caller, text) (text, error) {
		t.Error("the handler was called")
		return text{}, nil
	})
	for ask, want := range map[string]string{
		`app.ann.echo no JSON`:   `{"error":"the request is not valid: invalid character 'o' in literal null (expecting 'u')"}`,
		`app.ann.sing {}`:        `{"error":"there is no request \"sing\"; there are echo"}`,
		`app.bob.echo {}`:        `{"error":"it is not checked"}`,
		`app.ann.echo {"text":1`: `{"error":"the request is not valid: unexpected end of JSON input"}`,
	} {
		subject, data, _ := strings.Cut(ask, " ")
		if got := raw(t, conn, subject, data); got != want {
			t.Errorf("%s is answered by %s", ask, got)
		}
	}
	if m, err := conn.Request("app.eve.echo", nil, 100*time.Millisecond); err == nil {
		t.Errorf("what is not accepted is answered by %s", m.Data)
	}
}

// TestARawRequestIsNotDecoded: its handler returns the error.
func TestARawRequestIsNotDecoded(t *testing.T) {
	conn := connected(t)
	s := rpc.NewServer(t.Context(), rpc.ServerOptions{})
	rpc.Handle(s, rpc.Method[rpc.Raw, text]{Name: "raw"}, func(_ context.Context, _ rpc.Caller, in rpc.Raw) (text, error) { return text{string(in)}, nil })
	open(t, s, conn)
	if got := raw(t, conn, "app.ann.raw", "no JSON"); got != `{"text":"no JSON"}` {
		t.Errorf("it is answered by %s", got)
	}
}

func TestCloseWaitsForHandlers(t *testing.T) {
	conn := connected(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	s := rpc.NewServer(t.Context(), rpc.ServerOptions{})
	rpc.Handle(s, echo, func(_ context.Context, c rpc.Caller, _ text) (text, error) {
		c.After(func() { leave <- struct{}{} })
		close(entered)
		return text{}, nil
	})
	if err := s.Open(conn, subject); err != nil {
		t.Fatal(err)
	}
	client := rpc.NewClient(conn, subject.From("ann"), rpc.ClientOptions{})
	if _, err := rpc.Call(soon(t), client, echo, text{}); err != nil { // the handler has still something to do
		t.Fatal(err)
	}
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
		t.Error("Close does not wait")
	case <-time.After(50 * time.Millisecond):
	}
	<-leave
	if err := errors.Join(<-closed, s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := rpc.Call(soon(t), client, echo, text{}); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after Close the answer is %v", err)
	}
}

func TestOneWayMessagesKeepTheirOrder(t *testing.T) {
	conn := connected(t)
	got := make(chan string, 1000)
	note := rpc.Method[text, rpc.None]{Name: "note"}
	s := rpc.NewServer(t.Context(), rpc.ServerOptions{})
	rpc.HandleOneWay(s, note, func(_ rpc.Caller, in text) { got <- in.Text })
	open(t, s, conn)
	client := rpc.NewClient(conn, subject.From("ann"), rpc.ClientOptions{})
	if err := conn.Publish("app.ann.note", []byte("no JSON")); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := rpc.Send(client, note, text{fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if said := <-got; said != fmt.Sprint(i) {
			t.Fatalf("in place %d is %s", i, said)
		}
	}
}

func TestARefusedRequestDoesNotWait(t *testing.T) {
	var refusals rpc.Refusals
	conn := connected(t)
	client := rpc.NewClient(conn, subject.From("ann"), rpc.ClientOptions{Refusals: &refusals})
	ctx := soon(t)
	silent, err := conn.Subscribe("app.ann.>", func(m *nats.Msg) {
		refusals.Report(conn, nil, fmt.Errorf("something else about %q", m.Subject))
		refusals.Report(conn, nil, fmt.Errorf("%w to %q", nats.ErrPermissionViolation, "app.ann"))
		refusals.Report(conn, nil, fmt.Errorf("%w to %q", nats.ErrPermissionViolation, m.Subject))
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Unsubscribe() }()
	if _, err := rpc.Call(ctx, client, echo, text{}); !errors.Is(err, rpc.ErrNotPermitted) || ctx.Err() != nil {
		t.Errorf("%v", err)
	}
}

func TestTheClassSaysWhoMayAsk(t *testing.T) {
	s := rpc.NewServer(t.Context(), rpc.ServerOptions{})
	nothing := func(context.Context, rpc.Caller, text) (text, error) { return text{}, nil }
	rpc.Handle(s, echo, nothing)
	rpc.Handle(s, rpc.Method[text, text]{Name: "join", Class: rpc.Participate}, nothing)
	rpc.Handle(s, rpc.Method[text, text]{Name: "end"}, nothing)
	if got := s.Methods(rpc.Observe, rpc.Participate); !slices.Equal(got, []string{"echo", "join"}) {
		t.Errorf("who takes part may ask %v", got)
	}
	if got := s.Methods(rpc.Control); !slices.Equal(got, []string{"end"}) {
		t.Errorf("for who controls are %v", got)
	}
}

func TestAMethodIsBoundedInTime(t *testing.T) {
	conn := connected(t)
	s := rpc.NewServer(t.Context(), rpc.ServerOptions{})
	rpc.Handle(s, rpc.Method[text, text]{Name: "slow", Within: time.Millisecond}, func(ctx context.Context, _ rpc.Caller, _ text) (text, error) {
		<-ctx.Done()
		return text{}, context.Cause(ctx)
	})
	open(t, s, conn)
	if got := raw(t, conn, "app.ann.slow", ""); !strings.Contains(got, "deadline exceeded") {
		t.Errorf("it is answered by %s", got)
	}
}

func TestAnOutputThatCannotBeEncodedIsAnError(t *testing.T) {
	conn := connected(t)
	s := rpc.NewServer(t.Context(), rpc.ServerOptions{})
	rpc.Handle(s, rpc.Method[text, json.RawMessage]{Name: "bad"}, func(context.Context, rpc.Caller, text) (json.RawMessage, error) { return json.RawMessage("{"), nil })
	open(t, s, conn)
	if got := raw(t, conn, "app.ann.bad", ""); !strings.Contains(got, `"error":"encode the reply`) {
		t.Errorf("it is answered by %s", got)
	}
}
