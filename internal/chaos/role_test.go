package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/actorswarm/swarm/model"
	"github.com/nats-io/nats.go"
)

const space = "chaos"

// agents are named after the process that they send from.
var agents = []string{"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3", "c0", "c1"}

// hosted returns the agents whose journal is a role's: the client's is the owner's.
func hosted(role string) []string {
	if role == "node" {
		return agents[4:8]
	}
	return append(append([]string(nil), agents[:4]...), agents[8:]...)
}

// senders returns the agents that a role sends for.
func senders(role string) []string {
	switch role {
	case "owner":
		return agents[:4]
	case "node":
		return agents[4:8]
	}
	return agents[8:]
}

// target returns the receiver of an agent's i-th message: each other in turn.
func target(from string, i int) string {
	others := make([]string, 0, len(agents)-1)
	for _, a := range agents {
		if a != from {
			others = append(others, a)
		}
	}
	return others[i%len(others)]
}

func body(from, to string, i int) string { return fmt.Sprintf("#%s>%s:%d#", from, to, i) }

func letterID(from string, i int) mailbox.ID { return mailbox.ID(fmt.Sprintf("m-%s-%d", from, i)) }

// run is the life of one process, until it is killed.
func run(role, dir string) error {
	ctx := context.Background()
	say := speaker()
	if role == "client" {
		return runClient(ctx, dir, say)
	}
	n, err := openNode(ctx, role, dir, say)
	if err != nil {
		return err
	}
	for _, a := range senders(role) {
		go n.send(ctx, a, func(i int) error { return n.post(a, i) })
	}
	go n.finish(ctx, senders(role))
	<-ctx.Done()
	return nil
}

// speaker returns a function that prints each word once.
func speaker() func(string) {
	var said sync.Map
	return func(word string) {
		if _, again := said.LoadOrStore(word, true); !again {
			fmt.Println(word)
		}
	}
}

// sender is what a process that sends has.
type sender struct {
	dir string
	say func(string)
}

// send goes on where an earlier life of the process was killed.
func (s *sender) send(ctx context.Context, from string, post func(i int) error) {
	// Written over in one piece: a kill leaves the old number or the new one.
	count, err := os.OpenFile(filepath.Join(s.dir, "sent."+from), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	for i := progress(s.dir, from); ctx.Err() == nil; {
		if i >= s.allowed() {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		if err := post(i); err != nil {
			time.Sleep(5 * time.Millisecond) // full, or the owner is dead: the same again
			continue
		}
		i++
		if _, err := count.WriteAt(fmt.Appendf(nil, "%8d", i), 0); err != nil {
			panic(err)
		}
		s.say("busy")
	}
}

func (s *sender) allowed() int {
	n, _ := s.limits()
	return n
}

func (s *sender) limits() (now, all int) {
	raw, err := os.ReadFile(filepath.Join(s.dir, "allow"))
	if err != nil {
		return 0, 1
	}
	if _, err := fmt.Sscan(string(raw), &now, &all); err != nil {
		return 0, 1
	}
	return now, all
}

func (s *sender) sentAll(froms []string) bool {
	_, all := s.limits()
	for _, f := range froms {
		if progress(s.dir, f) < all {
			return false
		}
	}
	return true
}

// node is a process with a journal.
type node struct {
	sender
	store   *transcript.Store
	courier *mailbox.Courier
	wakes   map[mailbox.AgentID]chan struct{}
	reading atomic.Int32
}

func openNode(ctx context.Context, role, dir string, say func(string)) (*node, error) {
	n := &node{sender: sender{dir, say}, wakes: map[mailbox.AgentID]chan struct{}{}}
	var err error
	if n.store, err = transcript.Open(ctx, filepath.Join(dir, role), space, transcript.Options{NoLines: true}); err != nil {
		return nil, err
	}
	for _, a := range hosted(role) {
		id := mailbox.AgentID(a)
		n.wakes[id] = make(chan struct{}, 1)
		if _, ok := n.store.Get(id); !ok {
			if _, _, err := n.store.Create(agent.Spec{ID: id, Name: a, Role: agent.Teammate, Born: time.Now()}); err != nil {
				return nil, err
			}
		}
	}
	conn, err := n.connect(ctx, role)
	if err != nil {
		return nil, err
	}
	for err = n.begin(ctx, conn); err != nil; err = n.begin(ctx, conn) { // the owner may die meanwhile
		time.Sleep(20 * time.Millisecond)
	}
	n.store.Ship(n.courier.Send)
	for id := range n.wakes {
		go n.attend(ctx, id)
		n.wake(id)
	}
	if role == "owner" {
		return n, n.serve(ctx, conn)
	}
	return n, nil
}

func (n *node) begin(ctx context.Context, conn *nats.Conn) error {
	box := natsbox.New(conn, natsbox.Options{Space: space, OnError: func(error) {}})
	n.courier = mailbox.NewCourier(box, n.store, mailbox.CourierOptions{Wake: n.wake, ResendAfter: 300 * time.Millisecond})
	return n.courier.Start(ctx, n.store.Cursor(), n.store.Pending())
}

func socket(dir string) string { return filepath.Join(dir, "run", "s") }

// connect starts the server in the owner; everybody else waits for it.
func (n *node) connect(ctx context.Context, role string) (*nats.Conn, error) {
	if role != "owner" {
		return dial(ctx, n.dir)
	}
	server, err := natsd.Start(ctx, natsd.Options{StoreDir: filepath.Join(n.dir, "jetstream")})
	if err != nil {
		return nil, err
	}
	if err := server.ServeUnix(socket(n.dir)); err != nil {
		return nil, err
	}
	return server.Conn("owner")
}

func dial(ctx context.Context, dir string) (*nats.Conn, error) {
	for {
		conn, err := natsd.DialUnix(socket(dir))
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (n *node) wake(id mailbox.AgentID) {
	select {
	case n.wakes[id] <- struct{}{}:
	default:
	}
}

// attend reads an agent's mail as its turns would.
func (n *node) attend(ctx context.Context, id mailbox.AgentID) {
	t, _ := n.store.Get(id)
	for ctx.Err() == nil {
		<-n.wakes[id]
		for len(t.Unread()) > 0 || t.Record().TurnOpen {
			n.reading.Add(1)
			if err := n.turn(t); err != nil {
				panic(err)
			}
			n.reading.Add(-1)
			n.say("busy")
		}
	}
}

func (n *node) turn(t *transcript.Transcript) error {
	_, read, err := t.Request(func(mail []mailbox.Envelope) []model.Block {
		blocks := make([]model.Block, len(mail))
		for i, e := range mail {
			blocks[i] = model.Text(e.Body)
		}
		return blocks
	})
	if err != nil {
		return err
	}
	for _, e := range read {
		n.courier.SendReceipt(mailbox.Receipt{From: t.Address(), To: e.From, State: mailbox.StateRead, Through: e.Seq, IDs: []mailbox.ID{e.ID}})
	}
	return t.End(agent.Completed, "", "", "")
}

// post accepts an agent's i-th message. The same one again is no other.
func (n *node) post(from string, i int) error {
	t, ok := n.store.Get(mailbox.AgentID(from))
	if !ok {
		return errors.New("no such agent")
	}
	to := target(from, i)
	_, durable, err := t.Send(mailbox.Envelope{ID: letterID(from, i), To: mailbox.Address{Agent: mailbox.AgentID(to)}, Kind: mailbox.KindText, Body: body(from, to, i)})
	if err != nil {
		return err
	}
	return durable()
}

// finish reports when all is sent and nothing is on its way.
func (n *node) finish(ctx context.Context, froms []string) {
	for ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
		if n.sentAll(agents) && len(n.store.Pending()) == 0 && n.reading.Load() == 0 && n.allRead() {
			n.say("done")
		}
	}
	_ = froms
}

func (n *node) allRead() bool {
	for id := range n.wakes {
		if t, _ := n.store.Get(id); len(t.Unread()) > 0 {
			return false
		}
	}
	return true
}

const postSubject = "chaos.post"

// serve journals what a client posts before it answers.
func (n *node) serve(ctx context.Context, conn *nats.Conn) error {
	_, err := conn.Subscribe(postSubject, func(m *nats.Msg) {
		go func() {
			var from string
			var i int
			answer := "ok"
			if _, err := fmt.Sscan(string(m.Data), &from, &i); err != nil {
				answer = err.Error()
			} else if err := n.post(from, i); err != nil {
				answer = err.Error()
			}
			m.Respond([]byte(answer)) //nolint:errcheck // the client asks again
		}()
	})
	return errors.Join(err, ctx.Err())
}

// runClient is a process that keeps nothing.
func runClient(ctx context.Context, dir string, say func(string)) error {
	conn, err := dial(ctx, dir)
	if err != nil {
		return err
	}
	s := sender{dir, say}
	for _, a := range senders("client") {
		go s.send(ctx, a, func(i int) error {
			m, err := conn.Request(postSubject, fmt.Appendf(nil, "%s %d", a, i), time.Second)
			if err != nil {
				return err
			}
			if answer := strings.TrimSpace(string(m.Data)); answer != "ok" {
				return errors.New(answer)
			}
			return nil
		})
	}
	for !s.sentAll(senders("client")) {
		time.Sleep(20 * time.Millisecond)
	}
	say("done")
	<-ctx.Done()
	return nil
}
