package bus

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// opened returns a bus that is down, of a session with an empty journal.
func opened(t *testing.T) (*Bus, *transcript.Store) {
	t.Helper()
	state, err := os.MkdirTemp("", "bus") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	info := session.Info{ID: "s1", Dir: "/work", Path: session.Dir(state, "/work") + "/s1"}
	if err := info.MakeDirs(); err != nil {
		t.Fatal(err)
	}
	store, err := transcript.Open(t.Context(), info.Path, info.ID, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := New(t.Context(), Options{Session: info, Store: store, Sole: true, OnError: func(err error) { t.Log(err) }})
	t.Cleanup(func() {
		if err := errors.Join(b.Stop(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return b, store
}

func TestTheSocketOpensAfterTheLastHandler(t *testing.T) {
	b, _ := opened(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	dial := func() error {
		conn, err := natsd.DialUnix(b.o.Session.Socket(b.o.Session.StateDir()))
		if err == nil {
			conn.Close()
		}
		return err
	}
	stopped := 0
	handler := func(mail, local *nats.Conn) (func() error, error) {
		if mail != local || mail == nil {
			t.Error("without a server of others mail has a connection of its own")
		}
		if b.Serving() || dial() == nil {
			t.Error("somebody gets in before the last handler answers")
		}
		return func() error { stopped++; return nil }, nil
	}
	if err := b.Serve(handler, handler); err != nil {
		t.Fatal(err)
	}
	if conn, err := b.LocalConn(t.Context()); err != nil || conn == nil || !b.Serving() {
		t.Errorf("the bus is not served: %v", err)
	}
	if err := dial(); err != nil {
		t.Errorf("nobody gets in: %v", err)
	}
	if err := b.Stop(); err != nil || stopped != 2 {
		t.Errorf("of two handlers %d were stopped: %v", stopped, err)
	}
	if err := b.Stop(); err != nil || stopped != 2 {
		t.Errorf("a second stop does something: %v", err)
	}
}

func TestAHandlerThatFailsKeepsTheSocketShut(t *testing.T) {
	b, _ := opened(t)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	broken, stopped := errors.New("broken"), false
	err := b.Serve(
		func(_, _ *nats.Conn) (func() error, error) { return func() error { stopped = true; return nil }, nil },
		func(_, _ *nats.Conn) (func() error, error) { return nil, broken },
	)
	if !errors.Is(err, broken) || b.Serving() {
		t.Errorf("the bus is served: %v", err)
	}
	if err := b.Stop(); err != nil || !stopped {
		t.Errorf("the handler that was opened is not stopped: %v", err)
	}
}

func TestStopMayComeBeforeStart(t *testing.T) {
	b, _ := opened(t)
	waits := make(chan error)
	go func() {
		_, err := b.Conn(context.Background())
		waits <- err
	}()
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; !errors.Is(err, ErrStopped) {
		t.Errorf("who waited for the bus gets %v", err)
	}
	if err := b.Start(); !errors.Is(err, ErrStopped) {
		t.Errorf("a bus that was stopped starts: %v", err)
	}
	if err := b.Join(nil); !errors.Is(err, ErrStopped) {
		t.Errorf("a bus that was stopped joins: %v", err)
	}
}

// The owner's bus takes out of the bucket what nobody waits for any more, without being
// asked.
func TestTheOwnersBusSweepsObjects(t *testing.T) {
	b, store := opened(t)
	b.sweepEvery, b.sweepGrace = 10*time.Millisecond, 0
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := b.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ann, _, err := store.Create(agent.Spec{ID: "ann", Name: "ann", Role: agent.Teammate, Born: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	e, durable, err := ann.Send(mailbox.Envelope{To: mailbox.Address{Agent: "bob"}, Kind: mailbox.KindText, Body: strings.Repeat("x", 1<<17)})
	if err := errors.Join(err, durable()); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	names := func() (all []string) {
		// A listing waits for as many objects as there were when it began, so that
		// one that the sweep takes away meanwhile lets it wait for ever.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		objects, err := js.ObjectStore(ctx, objectBucket("s1"))
		if err != nil {
			return nil // not made yet
		}
		infos, err := objects.List(ctx)
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) && ctx.Err() == nil {
			t.Fatal(err)
		}
		for _, i := range infos {
			all = append(all, i.Name)
		}
		return all
	}
	until := func(what string, done func(all []string) bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !done(names()); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, names())
			}
		}
	}
	until("the text of the message is not there", func(all []string) bool { return len(all) == 1 })
	objects, err := js.ObjectStore(t.Context(), objectBucket("s1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.PutString(t.Context(), mailbox.RefOf([]byte("nobody needs it")).Hash(), "nobody needs it"); err != nil {
		t.Fatal(err)
	}
	until("what nobody needs stays", func(all []string) bool { return len(all) == 1 && all[0] == e.Ref.Hash() })
}
