package roster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

// slow is a tool that takes its time and obeys, or, if it is stubborn, does not.
type slow struct {
	name     string
	stubborn chan struct{} // nil: it obeys; it ends when this is closed
	running  *atomic.Int32
	begun    chan struct{} // gets one for each call
}

func (s slow) Spec() tool.Spec {
	return tool.Spec{Name: s.name, Schema: json.RawMessage(`{"type":"object"}`)}
}

func (s slow) Run(ctx context.Context, _ tool.Call) (tool.Result, error) {
	s.running.Add(1)
	defer s.running.Add(-1)
	s.begun <- struct{}{}
	if s.stubborn != nil {
		<-s.stubborn
		return tool.Result{Text: "ignored you"}, nil
	}
	select {
	case <-ctx.Done():
		return tool.Errorf("cut"), nil
	case <-time.After(10 * time.Minute):
		return tool.Result{Text: "ten minutes"}, nil
	}
}

// crew is a node with the user's outbox and what a team needs.
type crew struct {
	*coordinatortest.Node
	user   *transcript.Transcript
	roster *roster.Roster
	scope  context.Context // of those who are hired
	leave  context.CancelCauseFunc
}

// End ends the node, and those who were hired with it.
func (c *crew) End(t *testing.T) {
	c.leave(turn.ErrShutdown)
	c.Node.End(t)
}

func newCrew(t *testing.T, dir string, m model.Model, o coordinatortest.Options) *crew {
	t.Helper()
	o.MoreNames, o.MoreTools = roster.ToolNames(), func(c *coordinator.Coordinator, a coordinator.Agent) []tool.Tool { return roster.New(c).Tools(a) }
	c := &crew{Node: coordinatortest.New(t, dir, m, o)}
	var ok bool
	if c.user, ok = c.Store.Get(agent.UserID); !ok {
		var err error
		c.user, _, err = c.Store.Create(agent.Spec{ID: agent.UserID, Name: "user", Role: agent.User, Born: time.Now()})
		must(t, err)
	}
	c.roster = roster.New(c.Coordinator)
	c.scope, c.leave = context.WithCancelCause(t.Context())
	t.Cleanup(func() { c.End(t) })
	return c
}

// hire makes teammates that wait for their first message.
func (c *crew) hire(t *testing.T, more func(*agent.Spec), names ...string) {
	t.Helper()
	for _, name := range names {
		s := agent.Spec{
			ID: c.NewID(name), Name: name, Type: "general-purpose", Parent: agent.LeadID, Depth: 1, Role: agent.Teammate,
			Model: "m", Mode: "default", Tools: c.ToolNames(), Dir: c.Lead.Spec().Dir, Born: time.Now(),
		}
		if more != nil {
			more(&s)
		}
		must(t, c.SpawnIdle(c.scope, []agent.Spec{s}))
	}
}

func (c *crew) tell(t *testing.T, name, text string) {
	t.Helper()
	_, err := c.roster.Send(c.user, team.Message{To: name, Text: text})
	must(t, err)
}

// down is what Session.Down does: who objects is asked again.
func (c *crew) down(t *testing.T, grace time.Duration, names ...string) []actors.ShutdownResult {
	t.Helper()
	until := time.Now().Add(grace)
	all := make([]actors.ShutdownResult, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			d, err := c.roster.ShutDown(t.Context(), c.user.ID(), name, actors.ShutdownOptions{Grace: grace})
			said := d.Objection
			if err == nil && !d.Gone {
				d, err = c.roster.ShutDown(t.Context(), c.user.ID(), name, actors.ShutdownOptions{Grace: time.Until(until)})
			}
			if d.Objection = said; err != nil {
				t.Error(err)
			}
			all[i] = d
		})
	}
	group.Wait()
	return all
}

var requestOf = regexp.MustCompile(`\(request ([a-z0-9]+)\)`)

// request returns the newest id of a request that the conversation holds.
func request(r *model.Request) string {
	id := ""
	for _, m := range r.Messages {
		if all := requestOf.FindAllSubmatch(m.Raw(), -1); len(all) > 0 && m.Role() == model.RoleUser {
			id = string(all[len(all)-1][1])
		}
	}
	return id
}

func object(id, to string, message map[string]any) model.Block {
	return coordinatortest.Call(id, "SendMessage", map[string]any{"to": to, "message": message})
}

// TestProblem10_ShutdownHandshakeCompletes: whatever ten members do, they are gone
// in time, and what they had with them.
func TestProblem10_ShutdownHandshakeCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cycles := soak(8, 1000)
		running, begun := &atomic.Int32{}, make(chan struct{}, 100)
		hangs := make(chan struct{})
		defer close(hangs)
		m := coordinatortest.By(answers{
			agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") },
			"general-purpose": func(ctx context.Context, step int, r *model.Request) *model.Answer {
				text := string(r.Messages[0].Raw())
				switch {
				case strings.Contains(text, "long") && !strings.Contains(lastOf(r), "asked to end your work"):
					return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("t", step), "Slow", nil))
				case strings.Contains(text, "hang"):
					<-ctx.Done() // never answers
					return nil
				case strings.Contains(text, "refuse") && strings.Contains(lastOf(r), "asked to end your work"):
					return coordinatortest.Use(object(fmt.Sprint("o", step), "team-lead", map[string]any{
						"type": "shutdown_response", "request_id": request(r), "approve": false, "reason": "the migration is half done",
					}))
				}
				return coordinatortest.Say(strings.Repeat("done ", 3))
			},
		})
		n := newCrew(t, t.TempDir(), tooLong{m}, coordinatortest.Options{
			Tools: []tool.Tool{slow{"Slow", nil, running, begun}}, Policy: spawn.Policy{MaxAgents: -1, MaxSpawnRate: -1},
		})
		n.Begin(t)
		for range cycles {
			cycle(t, n, begun)
			if x := running.Load(); x != 0 {
				t.Fatalf("%d tools are left running", x)
			}
			if x := len(begun); x != 0 {
				t.Fatalf("%d calls that nobody counts on were made", x)
			}
		}
		n.End(t)
	})
}

// tooLong is a model for which the conversations of one agent do not fit, not even
// to be compacted.
type tooLong struct{ model.Model }

func (m tooLong) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	if r.Caller.Agent != "full" {
		return m.Model.Stream(ctx, r)
	}
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{}, &model.Error{Kind: model.TooLong, Message: "the conversation does not fit"})
	}
}

func cycle(t *testing.T, n *crew, begun <-chan struct{}) {
	t.Helper()
	names := []string{"idle1", "idle2", "idle3", "idle4", "tool1", "tool2", "hang", "full", "refuser", "dead"}
	n.hire(t, nil, names...)
	for name, text := range map[string]string{"tool1": "long", "tool2": "long", "hang": "hang", "full": "fill", "refuser": "refuse"} {
		n.tell(t, name, text)
	}
	dead, _ := n.Find("dead")
	must(t, n.Stop(t.Context(), dead.ID(), turn.ErrKilled))
	for range 2 {
		<-begun
	}
	synctest.Wait()
	if full, _ := n.Find("full"); full.Record().Outcome != agent.Failed || !strings.Contains(full.Record().Reason, "does not fit") {
		t.Fatalf("the one that is to be out of context is %+v", full.Record())
	}
	begin := time.Now()
	for i, d := range n.down(t, 5*time.Second, names...) {
		if !d.Gone || (names[i] == "refuser") != strings.Contains(d.Objection, "half done") {
			t.Fatalf("%s: %+v %s", names[i], d, all(t, n.Node, names[i]))
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Fatalf("all were gone after %v", took)
	}
	for _, d := range n.down(t, 5*time.Second, names...) { // a second call succeeds
		if !d.Gone {
			t.Fatalf("the second time: %+v", d)
		}
	}
	if left, err := n.roster.Members(); err != nil || len(left) != 1 {
		t.Fatalf("the roster holds %+v", left)
	}
	for _, name := range names {
		if _, err := n.roster.Send(n.user, team.Message{To: name, Text: "x"}); !errors.As(err, new(*actors.FinalError)) {
			t.Fatalf("%s can still be written to: %v", name, err)
		}
	}
}

// The requester gets an objection once, and the end; an agent that is not above a
// member cannot end it.
func TestAMemberObjectsOnceAndItsAskerHearsIt(t *testing.T) {
	var heard strings.Builder
	m := coordinatortest.By(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			heard.WriteString(lastOf(r))
			switch {
			case step == 0:
				return coordinatortest.Use(mate("c1", "ann"), mate("c2", "ben"))
			case strings.Contains(lastOf(r), "half way"), strings.Contains(lastOf(r), "go on"):
				return coordinatortest.Use(object(fmt.Sprint("s", step), "ann", map[string]any{"type": "shutdown_request", "reason": "no budget"}))
			}
			return coordinatortest.Say("ok")
		},
		"ann": func(_ context.Context, step int, r *model.Request) *model.Answer {
			if strings.Contains(lastOf(r), `kind=\"shutdown_request\"`) {
				return coordinatortest.Use(object(fmt.Sprint("o", step), "team-lead", map[string]any{
					"type": "shutdown_response", "request_id": request(r), "approve": false, "reason": "half way",
				}))
			}
			return coordinatortest.Say("hm")
		},
		"ben": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(object("b1", "ann", map[string]any{"type": "shutdown_request"}), object("b2", "ann", map[string]any{"type": "launch"}))
			}
			return coordinatortest.Say("done")
		},
	})
	n := newCrew(t, t.TempDir(), m, coordinatortest.Options{})
	sub := n.Bus.Subscribe()
	defer sub.Close()
	n.Begin(t)
	n.Say(t, "begin")
	if text := all(t, n.Node, "ben"); !strings.Contains(text, "not an agent of yours") || !strings.Contains(text, "no message of type") {
		t.Errorf("ben saw %s", text)
	}
	n.Say(t, "go on")
	ann, _ := n.Find("ann")
	n.Until(t, func() bool { return ann.Record().Shutdown.Phase == protocol.ShutdownGone })
	n.AwaitRest(t)
	if s := heard.String(); strings.Count(s, "It objects to ending") != 1 || strings.Count(s, "It agrees to end") != 1 {
		t.Errorf("the lead heard %s", s)
	}
	if text := all(t, n.Node, "ann"); !strings.Contains(text, "cannot refuse again") || !strings.Contains(text, "no budget") {
		t.Errorf("ann saw %s", text)
	}
	var audits int
	for audits == 0 {
		e, err := sub.Next(t.Context())
		must(t, err)
		if a, ok := e.Fact.(event.Audit); ok && strings.HasPrefix(a.Subject, "shutdown_request") {
			audits++
		}
	}
	n.hire(t, nil, "ann") // the name is free
	if a, _ := n.Find("ann"); a.ID() == ann.ID() {
		t.Error("the name still means the one that is gone")
	}
}

// A shutdown whose grace time ran out while no process ran is carried out at the
// next start, before anybody makes a request.
func TestAShutdownGoesOnAfterACrash(t *testing.T) {
	dir := t.TempDir()
	var requests atomic.Int32
	block := coordinatortest.By(answers{"general-purpose": func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
		requests.Add(1)
		<-ctx.Done()
		return nil
	}})
	n := newCrew(t, dir, block, coordinatortest.Options{})
	n.Begin(t)
	n.hire(t, nil, "ann", "ben")
	for _, name := range []string{"ann", "ben"} {
		n.tell(t, name, "work")
	}
	n.Until(t, func() bool { return requests.Load() == 2 })
	ann, _ := n.Find("ann")
	ben, _ := n.Find("ben")
	_, err := n.RequestShutdown(n.user.ID(), ann.ID(), actors.ShutdownOptions{Grace: time.Millisecond * 50, Reason: "x"})
	must(t, err)
	_, err = n.RequestShutdown(n.user.ID(), ben.ID(), actors.ShutdownOptions{Grace: time.Hour})
	must(t, err)
	n.End(t)
	time.Sleep(60 * time.Millisecond) // the grace time of ann, for which nobody waits
	requests.Store(0)
	again := newCrew(t, dir, block, coordinatortest.Options{})
	again.Begin(t)
	ann, _ = again.Find("ann")
	again.Until(t, func() bool { return ann.Record().Shutdown.Phase == protocol.ShutdownGone })
	again.Until(t, func() bool { return requests.Load() == 1 }) // ben's, who has time
	if l := ann.Record(); !l.Closed || l.TurnOpen || l.Reason != "shut down by the user" {
		t.Errorf("ann is %+v", l)
	}
	ben, _ = again.Find("ben")
	if p := ben.Record().Shutdown.Phase; p != protocol.ShutdownAsked {
		t.Errorf("ben is %s", p)
	}
	d, err := again.ShutDown(t.Context(), again.user.ID(), ben.ID(), actors.ShutdownOptions{}) // at once
	must(t, err)
	if !d.Gone {
		t.Errorf("ben: %+v", d)
	}
}

// TestProblem32_StopStops: the root of a tree of forty is stopped, whose tools do
// not obey.
func TestProblem32_StopStops(t *testing.T) {
	const width = 3
	release := make(chan struct{})
	running, begun := &atomic.Int32{}, make(chan struct{}, 100)
	// One root, three below it, nine below those, and nine times three: forty.
	m := coordinatortest.By(answers{
		agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") },
		"general-purpose": func(_ context.Context, step int, r *model.Request) *model.Answer {
			depth := strings.Count(lastOf(r), "deeper")
			if depth == 0 || step > 0 {
				return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("t", step), "WebFetch", nil))
			}
			var calls []model.Block
			for i := range width {
				calls = append(calls, coordinatortest.Spawn(fmt.Sprint("c", i), map[string]any{
					"description": "d", "prompt": strings.Repeat("deeper ", depth-1) + "work", "run_in_background": i == 0,
				}))
			}
			return coordinatortest.Use(calls...)
		},
	})
	n := newCrew(t, t.TempDir(), m, coordinatortest.Options{
		Tools:  []tool.Tool{slow{"WebFetch", release, running, begun}},
		Policy: spawn.Policy{MaxDepth: 5, MaxConcurrent: 100},
	})
	n.Begin(t)
	n.hire(t, nil, "root")
	n.tell(t, "root", "deeper deeper deeper work")
	for range 27 {
		<-begun
	}
	root, _ := n.Find("root")
	sub := n.Bus.Subscribe()
	defer sub.Close()
	begin := time.Now()
	ended, err := n.StopTree(t.Context(), root.ID(), turn.StoppedBy("the user"))
	must(t, err)
	took := time.Since(begin)
	t.Logf("forty stopped in %v", took)
	if limit := time.Duration(soak(60, 5)) * time.Second; took > limit { // 5 s are promised, of a machine that is not loaded
		t.Errorf("that is later than %v", limit)
	}
	if len(ended) != 40 || ended[0].ID != root.ID() {
		t.Fatalf("the receipt lists %d: %v", len(ended), ended)
	}
	for _, e := range ended {
		a, _ := n.Find(string(e.ID))
		if l := a.Record(); !l.Closed || l.TurnOpen || e.State != string(agent.Stopped) {
			t.Errorf("%v is %+v", e, l)
		}
	}
	n.Bus.Publish(event.Agent{}, event.Warning{Text: "from here on"})
	close(release) // what the tools do now, nobody hears
	for running.Load() > 0 {
		runtime.Gosched()
	}
	n.AwaitRest(t)
	n.Bus.Publish(event.Agent{}, event.Warning{Text: "to here"})
	after := false
	for {
		e, err := sub.Next(t.Context())
		must(t, err)
		if w, ok := e.Fact.(event.Warning); ok && w.Text == "to here" {
			break
		} else if ok {
			after = true
		}
		switch e.Fact.(type) {
		case event.Requested, event.CallStarted, event.CallFinished:
			if after && e.Agent.ID != agent.LeadID {
				t.Errorf("after the stop: %s of %s", event.Type(e.Fact), e.Agent.Name)
			}
		}
	}
}

// TestProblem47_EveryAskIsAnswered: whoever waits for another is answered,
// whenever that is stopped, on the wire in memory as on JetStream.
func TestProblem47_EveryAskIsAnswered(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		askTheStopped(t, func() (mailbox.Transport, func()) { return mailbox.NewMemory(), func() {} })
	})
	t.Run("on JetStream", func(t *testing.T) {
		askTheStopped(t, func() (mailbox.Transport, func()) {
			server, err := natsd.Start(t.Context(), natsd.Options{StoreDir: t.TempDir()})
			must(t, err)
			conn, err := server.Conn("node")
			must(t, err)
			return natsbox.New(conn, natsbox.Options{Space: "session", Sole: true}), func() { must(t, server.Stop()) }
		})
	})
}

func askTheStopped(t *testing.T, open func() (mailbox.Transport, func())) {
	others := goleak.IgnoreCurrent()
	wire, stop := open()
	asks, stops := soak(400, 10_000), soak(40, 200)
	block := coordinatortest.By(answers{"general-purpose": func(ctx context.Context, _ int, r *model.Request) *model.Answer {
		if strings.Contains(lastOf(r), "quick") {
			return coordinatortest.Say("quick")
		}
		<-ctx.Done()
		return nil
	}})
	n := newCrew(t, t.TempDir(), block, coordinatortest.Options{Wire: wire, Policy: spawn.Policy{MaxAgents: -1, MaxSpawnRate: -1, MaxConcurrent: 1000}})
	n.Begin(t)
	var resolved atomic.Int32
	var group sync.WaitGroup
	for i := range stops {
		name := fmt.Sprint("m", i)
		n.hire(t, nil, name)
		n.tell(t, name, []string{"quick", "work"}[i%2])
		target, _ := n.Find(name)
		for j := range asks / stops {
			group.Go(func() {
				defer resolved.Add(1)
				var err error
				switch j % 4 {
				case 0:
					_, err = n.Await(t.Context(), target.ID())
				case 1:
					_, err = n.roster.Send(n.user, team.Message{To: name, Text: "quick"})
				case 2:
					_, err = n.ShutDown(t.Context(), n.user.ID(), target.ID(), actors.ShutdownOptions{Grace: time.Duration(j) * time.Millisecond})
				default:
					_, err = n.StopTree(t.Context(), target.ID(), turn.ErrStopped)
				}
				if err != nil && !errors.As(err, new(*actors.FinalError)) {
					t.Errorf("an ask of %s: %v", name, err)
				}
			})
		}
		group.Go(func() {
			if _, err := n.ShutDown(t.Context(), n.user.ID(), target.ID(), actors.ShutdownOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := int(resolved.Load()); got != asks/stops*stops {
		t.Errorf("%d of %d asks were answered", got, asks)
	}
	for _, a := range n.Store.All() {
		// A message that came after the member had ended has woken it again.
		if l := a.Record(); l.Spec.Role == agent.Teammate && l.Woken.Time.IsZero() && (!l.Closed || l.TurnOpen) {
			t.Errorf("%s is left: %+v", l.Spec.Name, l)
		}
	}
	n.End(t)
	stop()
	goleak.VerifyNone(t, others)
	t.Logf("%d asks were answered during %d stops", resolved.Load(), stops)
}
