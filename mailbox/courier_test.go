package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/mailboxtest"
)

// bubble runs a test in virtual time and ends what it started inside.
func bubble(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		test(t, ctx)
	})
}

func node(t *testing.T, ctx context.Context, wire mailbox.Transport, o mailbox.CourierOptions, agents ...mailbox.AgentID) *mailboxtest.Node {
	t.Helper()
	n := mailboxtest.NewNode(mailboxtest.NewStore(agents...), o)
	if err := n.Start(ctx, wire); err != nil {
		t.Fatal(err)
	}
	return n
}

// slowDisk is a recorder whose records become durable when the test decides.
type slowDisk struct {
	mailbox.Recorder
	synced chan struct{}
	fail   error
}

func (d slowDisk) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	a, err := d.Recorder.Arrive(e, c)
	if a.Durable != nil {
		a.Durable = func() error {
			<-d.synced
			return d.fail
		}
	}
	return a, err
}

func TestReceiptAfterDisk(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		a := node(t, ctx, wire, mailbox.CourierOptions{}, "a")
		store, synced := mailboxtest.NewStore("b"), make(chan struct{})
		var woken []mailbox.AgentID
		b := mailbox.NewCourier(wire.Join(), slowDisk{store.Recorder(), synced, nil}, mailbox.CourierOptions{
			Wake: func(id mailbox.AgentID) { woken = append(woken, id) },
		})
		if err := b.Start(ctx, mailbox.Cursor{}, nil); err != nil {
			t.Fatal(err)
		}
		e, err := a.Send("a", "b", "hello")
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second) // and several resends
		if got := a.Store.State(e.ID).State; got != mailbox.StateAccepted || woken != nil {
			t.Errorf("before the sync: %s, woken %v", got, woken)
		}
		close(synced)
		synctest.Wait()
		if got := a.Store.State(e.ID).State; got != mailbox.StateDelivered || !slices.Equal(woken, []mailbox.AgentID{"b"}) {
			t.Errorf("after the sync: %s, woken %v", got, woken)
		}
	})
}

func TestNothingIsAcknowledgedAfterAFailedSync(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		a := node(t, ctx, wire, mailbox.CourierOptions{}, "a")
		synced, broken := make(chan struct{}), errors.New("disk gone")
		close(synced)
		var mu sync.Mutex
		var trouble []error
		b := mailbox.NewCourier(wire.Join(), slowDisk{mailboxtest.NewStore("b").Recorder(), synced, broken}, mailbox.CourierOptions{
			OnError: func(err error) { mu.Lock(); trouble = append(trouble, err); mu.Unlock() },
		})
		if err := b.Start(ctx, mailbox.Cursor{}, nil); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := a.Send("a", "b", "hello"); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Minute)
		if n := len(a.Store.Pending()); n != 3 {
			t.Errorf("%d messages are unacknowledged, want 3", n)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(trouble) != 1 || !errors.Is(trouble[0], broken) {
			t.Errorf("trouble %v, want the failure once", trouble)
		}
	})
}

func TestSendOfOnePairInEitherOrder(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		a, b := node(t, ctx, wire, mailbox.CourierOptions{}, "a"), node(t, ctx, wire.Join(), mailbox.CourierOptions{}, "b")
		var sent []mailbox.Envelope
		for range 20 {
			e, err := a.Store.Accept("a", "b", "hello")
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, e)
		}
		for _, e := range slices.Backward(sent) {
			a.Courier.Send(e)
			synctest.Wait()
		}
		synctest.Wait()
		if n := len(a.Store.Pending()); n != 0 {
			t.Errorf("%d messages are unacknowledged", n)
		}
		if err := mailboxtest.Verify(a, b); err != nil {
			t.Error(err)
		}
	})
}

func TestSendBeforeStartFollowsTheOutbox(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		b := node(t, ctx, wire, mailbox.CourierOptions{}, "b")
		a := mailboxtest.NewNode(mailboxtest.NewStore("a"), mailbox.CourierOptions{})
		if _, err := a.Store.Accept("a", "b", "of the last life"); err != nil {
			t.Fatal(err)
		}
		pending := a.Store.Pending()
		early, err := a.Store.Accept("a", "b", "early")
		if err != nil {
			t.Fatal(err)
		}
		a.Courier = mailbox.NewCourier(wire.Join(), a.Store.Recorder(), mailbox.CourierOptions{})
		a.Courier.Send(early)
		if err := a.Courier.Start(ctx, mailbox.Cursor{}, pending); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := mailboxtest.Verify(a, b); err != nil {
			t.Error(err)
		}
	})
}

// TestMailFromEndedNodesIsSent: another sends it, also after mail that was acknowledged
// long ago, and loses none of it on the way.
func TestMailFromEndedNodesIsSent(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		b, other := node(t, ctx, wire, mailbox.CourierOptions{}, "b"), node(t, ctx, wire.Join(), mailbox.CourierOptions{}, "c")
		gone := node(t, ctx, wire.Join(), mailbox.CourierOptions{}, "a")
		if _, err := gone.Send("a", "b", "arrived"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := gone.Courier.Stop(); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"left", "left behind it"} {
			if _, err := gone.Store.Accept("a", "b", text); err != nil {
				t.Fatal(err)
			}
		}
		other.Courier.Adopt(gone.Store.Pending())
		<-time.After(time.Minute)
		if err := mailboxtest.Verify(gone, b); err != nil {
			t.Error(err)
		}
	})
}

// A receiver that is away for a day must not find a stream full of copies.
func TestSilentReceiverIsProbedNotFlooded(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		counting := &counter{Transport: wire}
		a := node(t, ctx, counting, mailbox.CourierOptions{}, "a")
		for range 100 {
			if _, err := a.Send("a", "b", "hello"); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(24 * time.Hour)
		if counting.n > 64+6000 {
			t.Errorf("%d publications in a day for 100 messages", counting.n)
		}
		b := node(t, ctx, wire.Join(), mailbox.CourierOptions{}, "b")
		<-time.After(30 * time.Second)
		if err := mailboxtest.Verify(a, b); err != nil {
			t.Error(err)
		}
	})
}

type counter struct {
	mailbox.Transport
	n int // only the courier's sending goroutine
}

func (c *counter) Publish(e mailbox.Envelope) error {
	c.n++
	return c.Transport.Publish(e)
}

func TestReceiverWithANewJournalIsReportedAndContinues(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		a, b := node(t, ctx, wire, mailbox.CourierOptions{}, "a"), node(t, ctx, wire.Join(), mailbox.CourierOptions{}, "b")
		for range 5 {
			if _, err := a.Send("a", "b", "old"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := b.Courier.Stop(); err != nil {
			t.Fatal(err)
		}
		wire.Lose(100)
		again := node(t, ctx, wire.Join(), mailbox.CourierOptions{}, "b") // an empty store
		if _, err := a.Send("a", "b", "new"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := again.Store.Transcript("b"); len(got) != 1 || got[0].Body != "new" {
			t.Errorf("the new journal has %v, want the new message", got)
		}
		if trouble := fmt.Sprint(a.Errors()); !strings.Contains(trouble, "acknowledged 5 messages") {
			t.Errorf("reported %s", trouble)
		}
	})
}

func TestLocalReceiptsNeedNoWire(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		mute := mailboxtest.Faulty(mailbox.NewMemory(), 1, mailboxtest.Faults{DropReceipt: 1})
		n := node(t, ctx, mute, mailbox.CourierOptions{}, "a", "b")
		e, err := n.Send("a", "b", "hello")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n.Read("b")
		synctest.Wait()
		if got := n.Store.State(e.ID).State; got != mailbox.StateRead || mute.Injected() != 0 {
			t.Errorf("%s after %d receipts on the wire, want read and none", got, mute.Injected())
		}
	})
}

func TestStaleMessageIsRejectedWithAReason(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		b := node(t, ctx, wire, mailbox.CourierOptions{}, "b")
		got := make(chan mailbox.Receipt, 10)
		end := wire.Join()
		if err := end.Start(ctx, mailbox.Cursor{}, func(mailbox.Envelope, mailbox.Cursor) {}, func(r mailbox.Receipt) { got <- r }); err != nil {
			t.Fatal(err)
		}
		for i, incarnation := range []uint32{2, 1} {
			e := mailbox.Envelope{
				ID: mailbox.ID(fmt.Sprintf("m%d", i+1)), From: mailbox.Address{Agent: "a", Incarnation: incarnation},
				To: mailbox.Address{Agent: "b"}, Seq: uint64(i + 1), Kind: mailbox.KindText,
			}
			if err := end.Publish(e); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if r := <-got; r.State != mailbox.StateDelivered || r.Through != 1 {
			t.Errorf("first %+v", r)
		}
		if r := <-got; r.State != mailbox.StateRejected || !slices.Equal(r.IDs, []mailbox.ID{"m2"}) || r.Reason == "" || r.Through != 0 {
			t.Errorf("then %+v", r)
		}
		if n := len(b.Store.Transcript("b")); n != 1 {
			t.Errorf("%d messages recorded, want 1", n)
		}
	})
}

// answerer answers mail to an ended agent of another node.
type answerer struct {
	mailbox.Recorder
	gone mailbox.AgentID
}

func (r answerer) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	if e.To.Agent == r.gone {
		return mailbox.Arrival{Verdict: mailbox.Dead}, nil
	}
	return r.Recorder.Arrive(e, c)
}

// TestMailToEndedAgentsIsAcknowledged writes more than a window to an agent that no
// node has, between messages to one that lives.
func TestMailToEndedAgentsIsAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		a := node(t, ctx, wire, mailbox.CourierOptions{}, "a")
		var lost, read []mailbox.ID
		write := func(n int) {
			for range n {
				for to, ids := range map[mailbox.AgentID]*[]mailbox.ID{"gone": &lost, "b": &read} {
					e, err := a.Send("a", to, "hello")
					if err != nil {
						t.Fatal(err)
					}
					*ids = append(*ids, e.ID)
				}
			}
		}
		write(100)
		store, synced := mailboxtest.NewStore("b"), make(chan struct{})
		var woken []mailbox.AgentID
		b := mailbox.NewCourier(wire.Join(), answerer{slowDisk{store.Recorder(), synced, nil}, "gone"}, mailbox.CourierOptions{
			Wake: func(id mailbox.AgentID) { woken = append(woken, id) },
		})
		if err := b.Start(ctx, mailbox.Cursor{}, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until all that is on the wire waits for the disk
		close(synced)
		synctest.Wait()
		write(1) // mail to the dead agent delays no other mail
		synctest.Wait()
		if n := len(a.Store.Pending()); n != 0 {
			t.Errorf("%d messages wait to be sent again", n)
		}
		for _, id := range lost {
			if s := a.Store.State(id); s.State != mailbox.StateDead || !strings.Contains(s.Reason, "gone has ended for good") {
				t.Fatalf("%s is %+v", id, s)
			}
		}
		for _, id := range read {
			if s := a.Store.State(id); s.State != mailbox.StateDelivered {
				t.Fatalf("%s is %+v", id, s)
			}
		}
		if slices.Contains(woken, "gone") || len(store.Transcript("b")) != len(read) || len(a.Errors()) > 0 {
			t.Errorf("woken %v, %d of %d recorded, trouble %v", woken, len(store.Transcript("b")), len(read), a.Errors())
		}
	})
}

func TestMemoryDropsWhatEveryEndForgot(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		wire := mailbox.NewMemory()
		a := node(t, ctx, wire, mailbox.CourierOptions{}, "a", "b")
		for range 100 {
			if _, err := a.Send("a", "b", "hello"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		late := 0
		end := wire.Join()
		if err := end.Start(ctx, mailbox.Cursor{}, func(mailbox.Envelope, mailbox.Cursor) { late++ }, func(mailbox.Receipt) {}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if late != 0 {
			t.Errorf("%d of 100 recorded envelopes are still in memory", late)
		}
	})
}
