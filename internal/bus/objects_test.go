package bus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/internal/object/bucket"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// agentProcess is a process of a session with one agent, on a disk of its own.
type agentProcess struct {
	store   *transcript.Store
	me      *transcript.Transcript
	arrived chan mailbox.Envelope
	trouble chan error
}

func process(t *testing.T, conn *nats.Conn, id mailbox.AgentID) *agentProcess {
	t.Helper()
	m := &agentProcess{arrived: make(chan mailbox.Envelope, 10), trouble: make(chan error, 1000)}
	noted := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	m.store, err = transcript.Open(t.Context(), t.TempDir(), "s1", transcript.Options{Arrived: func(e mailbox.Envelope) { m.arrived <- e }})
	noted(err)
	me, born, err := m.store.Create(agent.Spec{ID: id, Name: string(id), Role: agent.Teammate, Born: time.Now()})
	noted(err)
	noted(born())
	m.me = me
	b, err := bucket.New(conn, objectBucket("s1"), bucket.Options{})
	noted(err)
	trouble := func(err error) { m.trouble <- err }
	box := &objectTransport{
		Transport: natsbox.New(conn, natsbox.Options{Space: "s1"}), scope: t.Context(), store: m.store, bucket: b, trouble: trouble,
	}
	courier := mailbox.NewCourier(box, m.store, mailbox.CourierOptions{Wake: func(mailbox.AgentID) {}, OnError: trouble, ResendAfter: 100 * time.Millisecond})
	noted(courier.Start(t.Context(), m.store.Cursor(), m.store.Pending()))
	m.store.Ship(courier.Send)
	t.Cleanup(func() {
		if err := errors.Join(courier.Stop(), m.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *agentProcess) write(t *testing.T, to mailbox.AgentID, text string) mailbox.Envelope {
	t.Helper()
	e, durable, err := m.me.Send(mailbox.Envelope{To: mailbox.Address{Agent: to}, Kind: mailbox.KindText, Body: text})
	if err := errors.Join(err, durable()); err != nil {
		t.Fatal(err)
	}
	return e
}

// gets returns the whole text of the next message, as it is on the disk of m.
func (m *agentProcess) gets(t *testing.T) string {
	t.Helper()
	select {
	case e := <-m.arrived:
		text, err := m.store.Body(e)
		if err != nil {
			t.Fatal(err)
		}
		return text
	case <-time.After(30 * time.Second):
		for range len(m.trouble) {
			t.Log(<-m.trouble)
		}
		t.Fatal("no message arrives")
		return ""
	}
}

// A long message to another process is on its disk, whole, when it has arrived.
func TestALongMessageReachesAnotherProcess(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		conn := natsdtest.Embedded(t, natsd.Options{})
		reaches(t, conn, conn)
	})
	t.Run("outside", func(t *testing.T) {
		server := natsdtest.Start(t, natsdtest.Options{})
		reaches(t, server.Conn(t), server.Conn(t))
	})
}

func reaches(t *testing.T, here, there *nats.Conn) {
	ann, ben := process(t, here, "ann"), process(t, there, "ben")
	for _, text := range []string{strings.Repeat("a long text. ", 10_000), "a short one", strings.Repeat("x", 3<<20)} {
		ann.write(t, "ben", text)
		if got := ben.gets(t); got != text {
			t.Errorf("%d bytes arrived of %d", len(got), len(text))
		}
	}
}

// An object that does not match its name is never taken: the message arrives when
// the right one is there, which its sender sees to, as it does when the bucket is gone.
func TestAWrongObjectIsNotTakenForAMessage(t *testing.T) {
	conn := natsdtest.Embedded(t, natsd.Options{})
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ann := process(t, conn, "ann")
	text := strings.Repeat("what was said. ", 10_000)
	e := ann.write(t, "ben", text) // nobody is there yet to take it
	store := func() jetstream.ObjectStore {
		s, err := js.ObjectStore(t.Context(), objectBucket("s1"))
		for ; err != nil && t.Context().Err() == nil; s, err = js.ObjectStore(t.Context(), objectBucket("s1")) {
		}
		return s
	}
	if _, err := store().PutString(t.Context(), e.Ref.Hash(), "what was sold"); err != nil {
		t.Fatal(err)
	}
	ben := process(t, conn, "ben")
	if got := ben.gets(t); got != text {
		t.Errorf("%d bytes arrived of %d", len(got), len(text))
	}
	if err := js.DeleteObjectStore(t.Context(), objectBucket("s1")); err != nil {
		t.Fatal(err)
	}
	again := strings.Repeat("what was said then. ", 10_000)
	ann.write(t, "ben", again)
	t.Cleanup(func() {
		for range len(ann.trouble) {
			t.Log("ann:", <-ann.trouble)
		}
	})
	if got := ben.gets(t); got != again {
		t.Errorf("without a bucket %d bytes arrived of %d", len(got), len(again))
	}
}

// What is swept out is neither on its way nor unread by somebody outside.
func TestObjectsOnTheirWayAreNeeded(t *testing.T) {
	ctx := context.Background()
	store, err := transcript.Open(ctx, t.TempDir(), "s1", transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	ann, _, err := store.Create(agent.Spec{ID: "ann", Name: "ann", Role: agent.Teammate, Born: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	e, durable, err := ann.Send(mailbox.Envelope{To: mailbox.Address{Agent: "bob"}, Kind: mailbox.KindText, Body: strings.Repeat("x", 1<<17)})
	if err := errors.Join(err, durable()); err != nil {
		t.Fatal(err)
	}
	o := &objectTransport{store: store}
	if !o.needed()[e.Ref.Hash()] {
		t.Error("a message on its way does not need its object")
	}
	if _, _, err := store.Create(agent.Spec{ID: "bob", Name: "bob", Role: agent.Program, Born: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Arrive(e, mailbox.Cursor{}); err != nil {
		t.Fatal(err)
	}
	store.Acknowledge(mailbox.Receipt{From: e.To, To: e.From, State: mailbox.StateDelivered, Through: e.Seq})
	if !o.needed()[e.Ref.Hash()] {
		t.Error("a message that is unread outside does not need its object")
	}
	bob, _ := store.Get("bob")
	if err := bob.Read(e.ID); err != nil {
		t.Fatal(err)
	}
	if o.needed()[e.Ref.Hash()] {
		t.Error("a message that was read needs its object")
	}
}
