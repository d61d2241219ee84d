package mailboxtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// Harness connects the ends of a transport under test.
type Harness struct {
	// Join returns a new end of the wire, also for a node that restarts.
	Join func(t *testing.T) mailbox.Transport
	// Regress drops the newest envelopes, or all, from the stream, like a server that was
	// restored from an old copy; nil if the transport cannot do that.
	Regress func(t *testing.T)
	// Timeout bounds each wait; 0 is 20 s.
	Timeout time.Duration
}

// Run runs the suite that every transport passes, in real time and with a courier and a
// store at each end.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"OrderPerPair", (*suite).orderPerPair},
		{"OnceAcrossReceiverRestart", (*suite).onceAcrossReceiverRestart},
		{"OnceAcrossSenderCrash", (*suite).onceAcrossSenderCrash},
		{"OnceWhenTheStreamGoesBack", (*suite).onceWhenTheStreamGoesBack},
		{"ResendAfterLostPublish", (*suite).resendAfterLostPublish},
		{"DuplicatePublishDropped", (*suite).duplicatePublishDropped},
		{"ReceiptsReachTheSender", (*suite).receiptsReachTheSender},
		{"LimitGivesFullErrorAndClears", (*suite).limitGivesFullErrorAndClears},
		{"UnknownReceiverUntouched", (*suite).unknownReceiverUntouched},
		{"StartsAfterTheCursor", (*suite).startsAfterTheCursor},
		{"StopIsIdempotent", (*suite).stopIsIdempotent},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			if h.Timeout == 0 {
				h.Timeout = 20 * time.Second
			}
			c.test(&suite{T: t, h: h})
		})
	}
}

type suite struct {
	*testing.T
	h     Harness
	nodes []*Node
}

// node returns a running node with these agents; it is stopped after the test.
func (s *suite) node(t mailbox.Transport, agents ...mailbox.AgentID) *Node {
	s.Helper()
	n := NewNode(NewStore(agents...), mailbox.CourierOptions{ResendAfter: 50 * time.Millisecond})
	s.start(n, t)
	s.nodes = append(s.nodes, n)
	s.Cleanup(func() {
		if err := n.Courier.Stop(); err != nil {
			s.Errorf("stop: %v", err)
		}
		if s.Failed() {
			s.Logf("trouble of %v: %v", agents, n.Errors())
		}
	})
	return n
}

func (s *suite) start(n *Node, t mailbox.Transport) {
	s.Helper()
	if err := n.Start(s.Context(), t); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) send(n *Node, from, to mailbox.AgentID, count int) (last mailbox.Envelope) {
	s.Helper()
	for i := range count {
		e, err := n.Send(from, to, fmt.Sprintf("%s to %s, %d", from, to, i))
		if err != nil {
			s.Fatal(err)
		}
		last = e
	}
	return last
}

// delivered waits until n has no unacknowledged mail and verifies all transcripts.
func (s *suite) delivered(n *Node) {
	s.Helper()
	err := n.Await(s.h.Timeout, "all mail is delivered", func() bool { return len(n.Store.Pending()) == 0 })
	if err != nil {
		s.Error(err)
	}
	if err := Verify(s.nodes...); err != nil {
		s.Error(err)
	}
}

func (s *suite) orderPerPair() {
	a, b := s.node(s.h.Join(s.T), "a1", "a2"), s.node(s.h.Join(s.T), "b1", "b2")
	for range 10 {
		for _, from := range []mailbox.AgentID{"a1", "a2"} {
			for _, to := range []mailbox.AgentID{"b1", "b2", "a1"} {
				s.send(a, from, to, 10)
			}
		}
	}
	s.delivered(a)
	if n := len(b.Store.Transcript("b1")); n != 200 {
		s.Errorf("b1 has %d messages, want 200", n)
	}
}

func (s *suite) onceAcrossReceiverRestart() {
	a, b := s.node(s.h.Join(s.T), "a"), s.node(s.h.Join(s.T), "b")
	for range 5 {
		have := len(b.Store.Transcript("b"))
		s.send(a, "a", "b", 20)
		if err := b.Await(s.h.Timeout, "one more arrives", func() bool { return len(b.Store.Transcript("b")) > have }); err != nil {
			s.Fatal(err)
		}
		if err := b.Crash(0); err != nil {
			s.Fatal(err)
		}
		s.start(b, s.h.Join(s.T))
	}
	s.delivered(a)
}

func (s *suite) onceAcrossSenderCrash() {
	a := s.node(s.h.Join(s.T), "a")
	s.node(s.h.Join(s.T), "b")
	for range 5 {
		s.send(a, "a", "b", 20)
		if err := a.Crash(0); err != nil {
			s.Fatal(err)
		}
		s.start(a, s.h.Join(s.T))
	}
	s.delivered(a)
}

func (s *suite) onceWhenTheStreamGoesBack() {
	if s.h.Regress == nil {
		s.Skip("this backend cannot go back")
	}
	a, b := s.node(s.h.Join(s.T), "a"), s.node(s.h.Join(s.T), "b")
	s.send(a, "a", "b", 50)
	s.delivered(a)
	s.h.Regress(s.T)
	s.send(a, "a", "b", 50)
	s.delivered(a)
	if err := b.Crash(0); err != nil {
		s.Fatal(err)
	}
	s.send(a, "a", "b", 20)
	s.h.Regress(s.T)
	s.start(b, s.h.Join(s.T))
	s.delivered(a)
}

func (s *suite) resendAfterLostPublish() {
	lossy := Faulty(s.h.Join(s.T), 1, Faults{Drop: 0.1, DropReceipt: 0.1})
	a := s.node(lossy, "a")
	s.node(Faulty(s.h.Join(s.T), 2, Faults{DropReceipt: 0.1}), "b")
	s.send(a, "a", "b", 100)
	s.delivered(a)
	if lossy.Injected() == 0 {
		s.Error("nothing was lost")
	}
}

func (s *suite) duplicatePublishDropped() {
	doubling := Faulty(s.h.Join(s.T), 3, Faults{Duplicate: 0.5, Reorder: 0.2})
	a := s.node(doubling, "a")
	s.node(s.h.Join(s.T), "b")
	s.send(a, "a", "b", 100)
	s.delivered(a)
	if doubling.Injected() == 0 {
		s.Error("nothing was duplicated")
	}
}

func (s *suite) receiptsReachTheSender() {
	a, b := s.node(s.h.Join(s.T), "a"), s.node(s.h.Join(s.T), "b")
	e := s.send(a, "a", "b", 1)
	s.becomes(a, e.ID, mailbox.StateDelivered)
	b.Read("b")
	s.becomes(a, e.ID, mailbox.StateRead)
	b.Courier.SendReceipt(mailbox.Receipt{From: e.To, To: e.From, State: mailbox.StateRejected, Through: 1, IDs: []mailbox.ID{e.ID}, Reason: "not for me"})
	s.becomes(a, e.ID, mailbox.StateRejected)
	if got := a.Store.State(e.ID).Reason; got != "not for me" {
		s.Errorf("the reason arrived as %q", got)
	}
}

func (s *suite) becomes(n *Node, id mailbox.ID, want mailbox.State) {
	s.Helper()
	err := n.Await(s.h.Timeout, "the message is "+string(want), func() bool { return n.Store.State(id).State == want })
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) limitGivesFullErrorAndClears() {
	a, b := s.node(s.h.Join(s.T), "a"), s.node(s.h.Join(s.T), "b", "c")
	b.Store.UnreadLimit = 10
	s.send(a, "a", "b", 10)
	err := a.Await(s.h.Timeout, "the sender cannot send more", func() bool {
		_, err := a.Send("a", "b", "one more")
		var full *mailbox.FullError
		return errors.As(err, &full)
	})
	if err != nil {
		s.Fatal(err)
	}
	s.send(a, "a", "c", 5) // no other receiver is delayed
	err = b.Await(s.h.Timeout, "b takes ten and c all", func() bool {
		return len(b.Store.Transcript("b")) == 10 && len(b.Store.Transcript("c")) == 5
	})
	if err != nil {
		s.Fatal(err)
	}
	for len(a.Store.Pending()) > 0 {
		have := len(a.Store.Pending())
		b.Read("b")
		if err := a.Await(s.h.Timeout, "more goes through after reading", func() bool {
			n := len(a.Store.Pending())
			return n < have || n == 0
		}); err != nil {
			s.Fatal(err)
		}
	}
	s.delivered(a)
}

func (s *suite) unknownReceiverUntouched() {
	a, b := s.node(s.h.Join(s.T), "a"), s.node(s.h.Join(s.T), "b")
	lost := s.send(a, "a", "nobody", 1)
	e := s.send(a, "a", "b", 1)
	s.becomes(a, e.ID, mailbox.StateDelivered)
	if got := a.Store.State(lost.ID).State; got != mailbox.StateAccepted {
		s.Errorf("mail for nobody is %s, want %s", got, mailbox.StateAccepted)
	}
	if n := len(b.Store.Transcript("b")); n != 1 {
		s.Errorf("b has %d messages, want 1", n)
	}
}

// startsAfterTheCursor tests the transport without a courier.
func (s *suite) startsAfterTheCursor() {
	type got struct {
		e mailbox.Envelope
		c mailbox.Cursor
	}
	listen := func(from mailbox.Cursor) (mailbox.Transport, <-chan got) {
		ch := make(chan got, 100)
		tr := s.h.Join(s.T)
		deliver := func(e mailbox.Envelope, c mailbox.Cursor) { ch <- got{e, c} }
		if err := tr.Start(s.Context(), from, deliver, func(mailbox.Receipt) {}); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() {
			if err := tr.Stop(); err != nil {
				s.Errorf("stop: %v", err)
			}
		})
		return tr, ch
	}
	next := func(ch <-chan got, seq uint64) mailbox.Cursor {
		s.Helper()
		select {
		case g := <-ch:
			if g.e.Seq != seq || g.e.Body != "hello" {
				s.Fatalf("got %+v, want number %d", g.e, seq)
			}
			return g.c
		case <-time.After(s.h.Timeout):
			s.Fatalf("number %d did not come", seq)
		}
		return mailbox.Cursor{}
	}
	tr, first := listen(mailbox.Cursor{})
	var third mailbox.Cursor
	for seq := range uint64(6) {
		e := mailbox.Envelope{ID: mailbox.NewID(), From: mailbox.Address{Agent: "a"}, To: mailbox.Address{Agent: "b"}, Seq: seq + 1, Kind: mailbox.KindText, Sent: time.Now(), Body: "hello"}
		if err := tr.Publish(e); err != nil {
			s.Fatal(err)
		}
		if c := next(first, seq+1); seq == 2 {
			third = c
		}
	}
	_, second := listen(third)
	for seq := range uint64(3) {
		next(second, seq+4)
	}
	_, again := listen(mailbox.Cursor{Stream: third.Stream + 1, Seq: third.Seq})
	next(again, 1) // a cursor of another stream does not apply here
}

func (s *suite) stopIsIdempotent() {
	never := s.h.Join(s.T)
	for range 2 {
		if err := never.Stop(); err != nil {
			s.Errorf("stop before start: %v", err)
		}
	}
	err := never.Start(s.Context(), mailbox.Cursor{}, func(mailbox.Envelope, mailbox.Cursor) {}, func(mailbox.Receipt) {})
	if !errors.Is(err, mailbox.ErrStopped) {
		s.Errorf("start after stop: %v, want ErrStopped", err)
	}
	n := s.node(s.h.Join(s.T), "a")
	stopped := make(chan error)
	for range 3 {
		go func() { stopped <- n.Courier.Stop() }()
	}
	for range 3 {
		if err := <-stopped; err != nil {
			s.Errorf("concurrent stop: %v", err)
		}
	}
	if err := mailbox.NewCourier(s.h.Join(s.T), n.Store.Recorder(), mailbox.CourierOptions{}).Stop(); err != nil {
		s.Errorf("stop of a courier that never started: %v", err)
	}
}
