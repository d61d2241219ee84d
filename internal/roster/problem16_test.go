package roster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/mailboxtest"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// TestProblem16_NothingIsReadTwiceAndNoWorkIsDoneTwice drops a fifth of the
// receipts, kills the node between a message's record and its receipt or in the
// middle of a write, and begins again when the server has forgotten which
// publications it has seen. Every message asks for one piece of work.
func TestProblem16_NothingIsReadTwiceAndNoWorkIsDoneTwice(t *testing.T) {
	w := &errands{
		letters: soak(500, 10_000), kills: soak(4, 12), disk: journaltest.New(), dir: t.TempDir(), store: t.TempDir(),
		ann: mailboxtest.NewStore("ann"),
	}
	w.done = make([]atomic.Int32, w.letters)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 16))
	for life := range w.kills + 1 {
		w.life(t, life, rng)
	}
	if c := w.disk.Counts(); c.Crashes != w.kills || w.betweens != (w.kills+1)/2 || w.lost*8 < w.receipts || w.lost == 0 {
		t.Fatalf("the faults were not reached: %+v, %d between record and receipt, %d of %d receipts lost", c, w.betweens, w.lost, w.receipts)
	}
	t.Logf("%d messages, %d kills, %d of them between record and receipt, %d of %d receipts lost", w.letters, w.kills, w.betweens, w.lost, w.receipts)
}

// errands is a sequence of lives in which ben does what the messages of ann ask for,
// who is of another node: receipts within a node need no wire.
type errands struct {
	ann            *mailboxtest.Store
	letters, kills int
	disk           *journaltest.Disk
	dir, store     string // of the node and of the server
	done           []atomic.Int32
	helped         atomic.Int32 // requests of a child that has long ended
	sent           int          // messages that are accepted
	betweens       int          // kills between a record and its receipt
	receipts, lost int
}

var letterNumber = regexp.MustCompile(`letter ([0-9]+)\.`)

func (w *errands) model() model.Model {
	return coordinatortest.By(answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(coordinatortest.Spawn("h", map[string]any{"description": "d", "prompt": "help"}))
			}
			return coordinatortest.Say("ok")
		},
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer {
			w.helped.Add(1)
			return coordinatortest.Say("helped")
		},
		"ben": func(_ context.Context, _ int, r *model.Request) *model.Answer {
			var calls []model.Block
			for _, text := range unanswered(r) {
				for _, m := range letterNumber.FindAllStringSubmatch(text, -1) {
					calls = append(calls, model.ToolUse("w"+m[1], "Work", json.RawMessage(`{"n":`+m[1]+`}`)))
				}
			}
			if len(calls) == 0 {
				return coordinatortest.Say("done")
			}
			return coordinatortest.Use(calls...)
		},
	})
}

// unanswered returns what the model has not answered yet: of a request whose
// answer a kill took, too.
func unanswered(r *model.Request) (all []string) {
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role() == model.RoleUser; i-- {
		for _, b := range r.Messages[i].Blocks() {
			all = append(all, b.Text)
		}
	}
	return all
}

func (w *errands) work(_ context.Context, c tool.Call) (tool.Result, error) {
	var in struct{ N int }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return tool.Result{}, err
	}
	w.done[in.N].Add(1)
	return tool.Result{Text: "worked"}, nil
}

// life is one process: server, node, and all that they have in memory.
func (w *errands) life(t *testing.T, life int, rng *rand.Rand) {
	t.Helper()
	server, err := natsd.Start(t.Context(), natsd.Options{StoreDir: w.store})
	must(t, err)
	conn, err := server.Conn("node")
	must(t, err)
	far, err := server.Conn("ann")
	must(t, err)
	killed := make(chan struct{})
	wire := &cutWire{at: -1, rand: rand.New(rand.NewPCG(rng.Uint64(), 16)), cut: func() {
		w.disk.Crash(journaltest.LoseNothing, nil) // the message is on disk, its receipt has not left
		w.betweens++
		close(killed)
	}}
	wire.Transport = natsbox.New(conn, natsbox.Options{Space: "session"})
	faulty := mailboxtest.Faulty(natsbox.New(far, natsbox.Options{Space: "session"}), rng.Uint64(), mailboxtest.Faults{Drop: 0.02, Duplicate: 0.05})
	ann := mailboxtest.NewNode(w.ann, mailbox.CourierOptions{})
	o := options()
	o.Wire, o.Disk = wire, w.disk
	o.Tools = []tool.Tool{coordinatortest.Unit{Is: tool.Spec{Name: "Work"}, Do: w.work}}
	n := coordinatortest.New(t, w.dir, w.model(), o)
	n.Begin(t)
	must(t, ann.Start(t.Context(), faulty))
	if life == 0 {
		n.Say(t, "begin")
		ben := member("ben")
		ben.Tools = []string{"Work"}
		must(t, n.SpawnIdle(t.Context(), []agent.Spec{ben}))
	}
	switch {
	case life == w.kills:
		w.post(t, ann, life, nil)
		must(t, ann.Await(time.Minute, "all is delivered", func() bool { return len(w.ann.Pending()) == 0 }))
		n.AwaitRest(t)
		w.check(t, n)
		n.End(t)
	case life%2 == 0:
		wire.arm(2 + rng.IntN(8))
		w.post(t, ann, life, killed)
		n.Abandon(t)
	default:
		killed := crashAt(w.disk, 20+rng.IntN(100), rng)
		w.post(t, ann, life, killed)
		n.Abandon(t)
		w.disk.BeforeSync(nil)
	}
	must(t, ann.Crash(0))
	w.receipts, w.lost = w.receipts+wire.all, w.lost+wire.lost
	if life < w.kills {
		outlive(t, server)
	}
	must(t, server.Stop())
}

// post has ann write this life's share of the messages; then it waits for the kill,
// if there is to be one.
func (w *errands) post(t *testing.T, ann *mailboxtest.Node, life int, killed <-chan struct{}) {
	t.Helper()
	late := time.After(time.Minute)
	for w.sent < w.letters*(life+1)/(w.kills+1) {
		changed := w.ann.Changed()
		_, err := ann.Send("ann", "ben", fmt.Sprintf("letter %d.", w.sent))
		if err == nil {
			w.sent++
			continue
		}
		if !errors.As(err, new(*mailbox.FullError)) {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case <-killed:
			return
		case <-late:
			t.Fatalf("life %d: the mailbox stays full", life)
		}
	}
	if killed == nil {
		return
	}
	select {
	case <-killed:
	case <-late:
		t.Fatalf("life %d is not killed", life)
	}
}

// check compares what ben was sent with what it did.
func (w *errands) check(t *testing.T, n *coordinatortest.Node) {
	t.Helper()
	text := all(t, n, "ben")
	read := map[string]int{}
	for _, m := range letterNumber.FindAllStringSubmatch(text, -1) {
		read[m[1]]++
	}
	undone := 0
	for i := range w.letters {
		if c := read[strconv.Itoa(i)]; c != 1 {
			t.Errorf("letter %d is there %d times", i, c)
		}
		switch w.done[i].Load() {
		case 0:
			undone++
		case 1:
		default:
			t.Errorf("the work of letter %d was done %d times", i, w.done[i].Load())
		}
	}
	doubts := strings.Count(text, "in doubt: this Work call")
	if undone > doubts || doubts > w.kills {
		t.Errorf("%d pieces of work were not done, %d are in doubt after %d kills", undone, doubts, w.kills)
	}
	if w.helped.Load() != 1 {
		t.Errorf("the child that had ended was asked %d times", w.helped.Load())
	}
}

// outlive waits until the server has forgotten which publications it has seen.
func outlive(t *testing.T, server *natsd.Server) {
	t.Helper()
	conn, err := server.Conn("test")
	must(t, err)
	js, err := jetstream.New(conn)
	must(t, err)
	st, err := js.Stream(t.Context(), "MB_session")
	must(t, err)
	window := st.CachedInfo().Config.Duplicates
	if window <= 0 {
		t.Fatal("the stream has no window, so nothing is shown")
	}
	<-time.After(window + window/10)
}

// cutWire loses a fifth of the receipts, and calls cut in place of the n-th from
// when it is armed; none leaves after that.
type cutWire struct {
	mailbox.Transport
	cut func()

	mu        sync.Mutex
	rand      *rand.Rand // guarded by mu
	at        int        // guarded by mu; receipts until the cut; negative: none
	all, lost int        // guarded by mu; receipts
}

func (c *cutWire) arm(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = n
}

func (c *cutWire) PublishReceipt(r mailbox.Receipt) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all++
	switch {
	case c.at == 0:
		return nil
	case c.at == 1:
		c.at = 0
		c.cut()
		return nil
	case c.at > 1:
		c.at--
	}
	if c.rand.Float64() < 0.2 {
		c.lost++
		return nil
	}
	return c.Transport.PublishReceipt(r)
}
