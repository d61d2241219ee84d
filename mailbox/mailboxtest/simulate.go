package mailboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// Plan describes a simulation of a few nodes.
type Plan struct {
	Seed          uint64
	Nodes, Agents int // agents of each node
	Steps         int
	Crash         float64 // probability at each step that a node crashes and restarts
	Lose          float64 // probability at each step that the stream loses its end
	Faults        Faults
	UnreadLimit   int
	Mutation      Mutation
}

// Outcome counts the faults of a simulation, so that a test can check that those it is
// about happened.
type Outcome struct {
	Sent, Full, Faults, Crashes, Dropped, Lost int
}

// Simulate runs the plan over a Memory transport, ends the faults, waits until
// everything is acknowledged and verifies every transcript. Call it in a synctest
// bubble: it waits for minutes.
func Simulate(ctx context.Context, p Plan) (Outcome, error) {
	s := &simulation{plan: p, rand: rand.New(rand.NewPCG(p.Seed, 2)), wire: mailbox.NewMemory()}
	if err := s.start(ctx); err != nil {
		return s.out, errors.Join(err, s.stop())
	}
	for range p.Steps {
		if err := s.step(ctx); err != nil {
			return s.out, errors.Join(err, s.stop())
		}
	}
	err := s.drain()
	return s.out, errors.Join(err, Verify(s.nodes...), s.stop())
}

type simulation struct {
	plan  Plan
	rand  *rand.Rand
	wire  *mailbox.Memory
	nodes []*Node
	names []mailbox.AgentID
	wires []*FaultyTransport
	out   Outcome
}

func (s *simulation) start(ctx context.Context) error {
	for i := range s.plan.Nodes {
		var names []mailbox.AgentID
		for k := range s.plan.Agents {
			names = append(names, mailbox.AgentID(fmt.Sprintf("n%d-a%d", i, k)))
		}
		store := NewStore(names...)
		store.SyncTakes = time.Duration(1+s.rand.IntN(5)) * time.Millisecond
		store.Mutation = s.plan.Mutation
		store.UnreadLimit = s.plan.UnreadLimit
		s.names = append(s.names, names...)
		s.nodes = append(s.nodes, NewNode(store, mailbox.CourierOptions{}))
		s.wires = append(s.wires, nil)
		if err := s.restart(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) restart(ctx context.Context, i int) error {
	if old := s.wires[i]; old != nil {
		s.out.Faults += old.Injected()
	}
	s.wires[i] = Faulty(s.wire.Join(), s.rand.Uint64(), s.plan.Faults)
	return s.nodes[i].Start(ctx, s.wires[i])
}

func (s *simulation) step(ctx context.Context) error {
	i := s.rand.IntN(len(s.nodes))
	n := s.nodes[i]
	switch {
	case s.rand.Float64() < s.plan.Crash:
		return s.crash(ctx, i)
	case s.rand.Float64() < s.plan.Lose:
		s.out.Lost++
		s.wire.Lose(s.rand.IntN(20))
	case s.rand.IntN(4) == 0:
		n.Read(n.Store.names[s.rand.IntN(len(n.Store.names))])
	case s.rand.IntN(3) == 0:
		<-time.After(time.Duration(s.rand.IntN(3000)) * time.Millisecond / 10)
	default:
		return s.burst(n)
	}
	return nil
}

// crash kills a node with an intent that is not on disk yet: it may survive, and
// must then be sent.
func (s *simulation) crash(ctx context.Context, i int) error {
	n := s.nodes[i]
	_, err := n.Store.Compose(n.Store.names[0], s.names[s.rand.IntN(len(s.names))], "in doubt")
	if full := (*mailbox.FullError)(nil); err != nil && !errors.As(err, &full) {
		return err
	}
	s.out.Crashes++
	s.out.Dropped += n.Store.Crash(s.rand.IntN(3))
	if err := n.Courier.Stop(); err != nil {
		return err
	}
	return s.restart(ctx, i)
}

// burst sends a few messages from one agent to another.
func (s *simulation) burst(n *Node) error {
	from := n.Store.names[s.rand.IntN(len(n.Store.names))]
	to := s.names[s.rand.IntN(len(s.names))]
	for range 1 + s.rand.IntN(10) {
		_, err := n.Send(from, to, "hello")
		if full := (*mailbox.FullError)(nil); errors.As(err, &full) {
			s.out.Full++
			return nil
		}
		if err != nil {
			return err
		}
		s.out.Sent++
	}
	return nil
}

// drain ends the faults and lets every agent read until all outboxes are empty.
func (s *simulation) drain() error {
	for _, w := range s.wires {
		s.out.Faults += w.Injected()
		w.Heal()
	}
	for range 600 {
		open := 0
		for _, n := range s.nodes {
			for _, a := range n.Store.names {
				n.Read(a)
			}
			open += len(n.Store.Pending())
		}
		if open == 0 {
			return nil
		}
		<-time.After(time.Second)
	}
	return errors.New("after ten quiet minutes some messages are still unacknowledged")
}

func (s *simulation) stop() error {
	var errs []error
	for _, n := range s.nodes {
		errs = append(errs, n.Courier.Stop())
		errs = append(errs, n.Errors()...)
	}
	return errors.Join(errs...)
}
