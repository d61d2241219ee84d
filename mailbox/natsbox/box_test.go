package natsbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/mailboxtest"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func server(t testing.TB, dir string) *natsd.Server {
	t.Helper()
	s, err := natsd.Start(t.Context(), natsd.Options{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	return s
}

func conn(t testing.TB, s *natsd.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Conn("test")
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

// troubles collects what OnError is called with.
type troubles struct {
	mu   sync.Mutex
	list []error
	more chan struct{}
}

func newTroubles() *troubles { return &troubles{more: make(chan struct{}, 1000)} }

func (tr *troubles) add(err error) {
	tr.mu.Lock()
	tr.list = append(tr.list, err)
	tr.mu.Unlock()
	tr.more <- struct{}{}
}

// await returns when one of the errors is an E.
func await[E error](t *testing.T, tr *troubles) (found E) {
	t.Helper()
	for {
		tr.mu.Lock()
		for _, err := range tr.list {
			if errors.As(err, &found) {
				tr.mu.Unlock()
				return found
			}
		}
		tr.mu.Unlock()
		select {
		case <-tr.more:
		case <-time.After(20 * time.Second):
			t.Fatalf("no %T among %v", found, tr.list)
		}
	}
}

// inbox is the deliver of a bare transport.
type inbox struct{ ch chan mailbox.Envelope }

func newInbox() inbox { return inbox{make(chan mailbox.Envelope, 10000)} }

func (in inbox) deliver(e mailbox.Envelope, _ mailbox.Cursor) { in.ch <- e }

func (in inbox) next(t *testing.T) mailbox.Envelope {
	t.Helper()
	select {
	case e := <-in.ch:
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return mailbox.Envelope{}
}

func open(t *testing.T, nc *nats.Conn, o natsbox.Options, from mailbox.Cursor) (*natsbox.Box, inbox) {
	t.Helper()
	b, in := natsbox.New(nc, o), newInbox()
	if err := b.Start(t.Context(), from, in.deliver, func(mailbox.Receipt) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return b, in
}

func message(seq uint64) mailbox.Envelope {
	return mailbox.Envelope{
		ID: mailbox.NewID(), From: mailbox.Address{Agent: "a", Incarnation: 1}, To: mailbox.Address{Agent: "b"},
		Seq: seq, Kind: mailbox.KindText, Sent: time.Now(), Body: "hello",
	}
}

func publish(t *testing.T, b *natsbox.Box, seqs ...uint64) {
	t.Helper()
	for _, seq := range seqs {
		if err := b.Publish(message(seq)); err != nil {
			t.Fatal(err)
		}
	}
}

func jet(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestBoxPassesTheSuite(t *testing.T) {
	mailboxtest.Run(t, func(t *testing.T) mailboxtest.Harness {
		s := server(t, t.TempDir())
		js := jet(t, conn(t, s))
		return mailboxtest.Harness{
			Join: func(t *testing.T) mailbox.Transport {
				return natsbox.New(conn(t, s), natsbox.Options{Space: "test", OnError: func(err error) { t.Log(time.Now().Format("05.000"), err) }})
			},
			Regress: func(t *testing.T) {
				if err := js.DeleteStream(t.Context(), "MB_test"); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestSoleBoxPassesTheSuiteOnOneConnection(t *testing.T) {
	mailboxtest.Run(t, func(t *testing.T) mailboxtest.Harness {
		nc := conn(t, server(t, t.TempDir()))
		return mailboxtest.Harness{Join: func(t *testing.T) mailbox.Transport {
			return natsbox.New(nc, natsbox.Options{Space: "test", Sole: true})
		}}
	})
}

func TestRegressedStreamIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	store, backup := filepath.Join(dir, "store"), filepath.Join(dir, "backup")
	first := server(t, store)
	b, in := open(t, conn(t, first), natsbox.Options{Space: "test"}, mailbox.Cursor{})
	publish(t, b, 1, 2, 3)
	for range 3 {
		in.next(t)
	}
	if err := errors.Join(b.Stop(), first.Stop(), os.CopyFS(backup, os.DirFS(store))); err != nil {
		t.Fatal(err)
	}
	second := server(t, store)
	b, in = open(t, conn(t, second), natsbox.Options{Space: "test"}, mailbox.Cursor{})
	publish(t, b, 4, 5)
	for range 5 {
		in.next(t)
	}
	st, err := jet(t, conn(t, second)).Stream(t.Context(), "MB_test")
	if err != nil {
		t.Fatal(err)
	}
	cursor := mailbox.Cursor{Stream: st.CachedInfo().Created.UnixNano(), Seq: 5}
	if err := errors.Join(b.Stop(), second.Stop()); err != nil {
		t.Fatal(err)
	}

	// The server comes back with the older copy.
	tr := newTroubles()
	b, in = open(t, conn(t, server(t, backup)), natsbox.Options{Space: "test", OnError: tr.add}, cursor)
	for seq := range uint64(3) {
		if e := in.next(t); e.Seq != seq+1 {
			t.Fatalf("read %d again, want %d", e.Seq, seq+1)
		}
	}
	if went := await[*natsbox.RegressedError](t, tr); went.Cursor != cursor || went.Now.Seq != 3 {
		t.Errorf("reported %+v, want from %+v to 3", went, cursor)
	}
	publish(t, b, 4)
	if e := in.next(t); e.Seq != 4 {
		t.Errorf("then came %d, want 4", e.Seq)
	}
}

func TestPoisonIsSkippedAndReported(t *testing.T) {
	nc := conn(t, server(t, t.TempDir()))
	tr := newTroubles()
	b, in := open(t, nc, natsbox.Options{Space: "test", OnError: tr.add}, mailbox.Cursor{})
	forged := message(1)
	for subject, data := range map[string][]byte{
		"sw.test.mb.b.x": []byte("not an envelope"),
		"sw.test.mb.b.y": {},
		"sw.test.mb.b.z": forged.AppendJSON(nil), // claims to be from a
		"sw.test.mb.c.a": forged.AppendJSON(nil), // claims to be to b
	} {
		if _, err := jet(t, nc).Publish(t.Context(), subject, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Publish("sw.test.rc.a", []byte("not a receipt")); err != nil {
		t.Fatal(err)
	}
	publish(t, b, 7)
	if e := in.next(t); e.Seq != 7 {
		t.Errorf("got %+v, want number 7 and nothing before it", e)
	}
	seen := make(map[string]bool)
	for len(seen) < 5 {
		select {
		case <-tr.more:
		case <-time.After(20 * time.Second):
			t.Fatalf("reported only %v", seen)
		}
		tr.mu.Lock()
		for _, err := range tr.list {
			if poison := (*natsbox.PoisonError)(nil); errors.As(err, &poison) {
				seen[poison.Subject] = true
			}
		}
		tr.mu.Unlock()
	}
}

func TestFreshMessageIDForEachAttempt(t *testing.T) {
	nc := conn(t, server(t, t.TempDir()))
	b, in := open(t, nc, natsbox.Options{Space: "test"}, mailbox.Cursor{})
	e := message(1)
	for range 3 {
		if err := b.Publish(e); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if got := in.next(t); got.ID != e.ID {
			t.Errorf("got %s, want %s", got.ID, e.ID)
		}
	}
	st, err := jet(t, nc).Stream(t.Context(), "MB_test")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for seq := range uint64(3) {
		m, err := st.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		id := m.Header.Get(nats.MsgIdHdr)
		if id == "" || slices.Contains(ids, id) {
			t.Errorf("attempt %d has the id %q after %q", seq+1, id, ids)
		}
		ids = append(ids, id)
		for key, want := range map[string]string{
			natsbox.HeaderID: string(e.ID), natsbox.HeaderFrom: "a@1", natsbox.HeaderTo: "b",
			natsbox.HeaderSeq: "1", natsbox.HeaderKind: "text",
		} {
			if got := m.Header.Get(key); got != want {
				t.Errorf("header %s is %q, want %q", key, got, want)
			}
		}
	}
}

func TestOneConsumerPerProcess(t *testing.T) {
	nc := conn(t, server(t, t.TempDir()))
	names := make([]mailbox.AgentID, 200)
	for i := range names {
		names[i] = mailbox.AgentID(fmt.Sprintf("agent-%d", i))
	}
	node := mailboxtest.NewNode(mailboxtest.NewStore(names...), mailbox.CourierOptions{})
	if err := node.Start(t.Context(), natsbox.New(nc, natsbox.Options{Space: "test", Sole: true})); err != nil {
		t.Fatal(err)
	}
	for i, to := range names {
		if _, err := node.Send(names[0], to, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := node.Await(20*time.Second, "all is delivered", func() bool { return len(node.Store.Pending()) == 0 }); err != nil {
		t.Fatal(err)
	}
	st, err := jet(t, nc).Stream(t.Context(), "MB_test")
	if err != nil {
		t.Fatal(err)
	}
	if n := st.CachedInfo().State.Consumers; n != 1 {
		t.Errorf("%d consumers for %d agents, want 1", n, len(names))
	}
	if err := node.Courier.Stop(); err != nil {
		t.Fatal(err)
	}
	info, err := st.Info(t.Context())
	if err != nil || info.State.Consumers != 0 {
		t.Errorf("%d consumers left after Stop, %v", info.State.Consumers, err)
	}
	if err := mailboxtest.Verify(node); err != nil {
		t.Error(err)
	}
}

func TestFullStreamIsReported(t *testing.T) {
	nc := conn(t, server(t, t.TempDir()))
	_, err := jet(t, nc).CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "MB_test", Subjects: []string{"sw.test.mb.*.*"}, MaxBytes: 10, Discard: jetstream.DiscardNew,
	})
	if err != nil {
		t.Fatal(err)
	}
	tr := newTroubles()
	b, _ := open(t, nc, natsbox.Options{Space: "test", OnError: tr.add}, mailbox.Cursor{})
	publish(t, b, 1)
	select {
	case <-tr.more:
	case <-time.After(20 * time.Second):
		t.Fatal("a refused message was not reported")
	}
	large := message(2)
	large.Body = string(make([]byte, 2*natsd.MaxPayload))
	var tooLarge *mailbox.TooLargeError
	if err := b.Publish(large); !errors.As(err, &tooLarge) {
		t.Errorf("publishing more than the server takes: %v, want *TooLargeError", err)
	}
}

func TestStartReportsInvalidOptions(t *testing.T) {
	s := server(t, t.TempDir())
	for _, name := range []string{"", "a.b", "*", "ä"} {
		b := natsbox.New(conn(t, s), natsbox.Options{Space: name})
		if err := b.Start(t.Context(), mailbox.Cursor{}, nil, nil); err == nil {
			t.Errorf("the space %q was accepted", name)
		}
	}
	closed := conn(t, s)
	closed.Close()
	b := natsbox.New(closed, natsbox.Options{Space: "test"})
	if err := b.Start(t.Context(), mailbox.Cursor{}, nil, nil); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("on a closed connection: %v", err)
	}
}

// child runs a server in another process until it is killed.
func child(t *testing.T, store, socket string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledServerLosesNothing$")
	cmd.Env = append(os.Environ(), "NATSBOX_TEST_STORE="+store, "NATSBOX_TEST_SOCKET="+socket)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("kill: %v", err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the server ended by itself")
		}
	})
	t.Cleanup(kill)
	if _, err := io.ReadFull(out, make([]byte, 2)); err != nil {
		t.Fatalf("the server does not start: %v", err)
	}
	return kill
}

func serve(t *testing.T, store, socket string) {
	s, err := natsd.Start(t.Context(), natsd.Options{StoreDir: store})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ServeUnix(socket); err != nil {
		t.Fatal(err)
	}
	fmt.Println("ok")
	select {} // until killed
}

func TestKilledServerLosesNothing(t *testing.T) {
	if store := os.Getenv("NATSBOX_TEST_STORE"); store != "" {
		serve(t, store, os.Getenv("NATSBOX_TEST_SOCKET"))
	}
	dir, err := os.MkdirTemp("", "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	store, socket := filepath.Join(dir, "store"), filepath.Join(dir, "run", "s")
	kill := child(t, store, socket)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var nodes []*mailboxtest.Node
	for _, name := range []mailbox.AgentID{"a", "b"} {
		nc, err := natsd.DialUnix(socket)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		n := mailboxtest.NewNode(mailboxtest.NewStore(name), mailbox.CourierOptions{ResendAfter: 300 * time.Millisecond})
		if err := n.Start(ctx, natsbox.New(nc, natsbox.Options{Space: "test"})); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Courier.Stop(); err != nil {
				t.Error(err)
			}
		}()
		nodes = append(nodes, n)
	}
	for range 4 {
		for range 60 {
			for i, to := range []mailbox.AgentID{"b", "a"} {
				if _, err := nodes[i].Send([]mailbox.AgentID{"a", "b"}[i], to, "hello"); err != nil {
					t.Fatal(err)
				}
			}
		}
		kill()
		kill = child(t, store, socket)
		for _, n := range nodes {
			if err := n.Await(30*time.Second, "all is delivered", func() bool { return len(n.Store.Pending()) == 0 }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := mailboxtest.Verify(nodes...); err != nil {
		t.Error(err)
	}
}
