package coordinator_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// heardIn returns the part of an agent's conversation that others have written.
func heardIn(t *testing.T, a *transcript.Transcript) string {
	t.Helper()
	msgs, err := a.Messages()
	must(t, err)
	return userText(msgs)
}

func userText(msgs []model.Message) string {
	var text strings.Builder
	for _, m := range msgs {
		if m.Role() == model.RoleUser {
			text.Write(m.Raw())
		}
	}
	return text.String()
}

// parent starts background children at its first step, answers that it waits while reports
// are missing, and then with its result.
func parent(result string, reports []string, calls ...model.Block) func(context.Context, int, *model.Request) *model.Answer {
	return func(_ context.Context, step int, r *model.Request) *model.Answer {
		if step == 0 {
			return use(calls...)
		}
		for _, report := range reports {
			if !strings.Contains(userText(r.Messages), report) {
				return say("interim: not all are in")
			}
		}
		return say(result)
	}
}

func behind(id, kind string) model.Block {
	return agentCall(id, map[string]any{"description": "d", "prompt": "p", "subagent_type": kind, "run_in_background": true})
}

const kinds = `{"mid":{"description":"d","prompt":"p"},"leaf":{"description":"d","prompt":"p"},"other":{"description":"d","prompt":"p"}}`

// leaf is an agent that is held until it is let go.
type leaf struct {
	begun chan struct{}
	once  sync.Once
	gate  chan struct{}
}

func newLeaf() *leaf { return &leaf{begun: make(chan struct{}), gate: make(chan struct{})} }

func (l *leaf) answer(ctx context.Context, _ int, _ *model.Request) *model.Answer {
	l.once.Do(func() { close(l.begun) })
	select {
	case <-l.gate:
		return say("the leaf's report")
	case <-ctx.Done():
		return nil
	}
}

func ofType(n *coordinatortest.Node, kind string) *transcript.Transcript {
	for _, a := range n.Store.All() {
		if a.Spec().Type == kind {
			return a
		}
	}
	return nil
}

// resting reports whether the agent of a type waits for its children.
func resting(n *coordinatortest.Node, kind string) func() bool {
	return func() bool {
		for _, s := range n.Status() {
			if s.Record.Spec.Type == kind && s.State.Name == "waiting" {
				return true
			}
		}
		return false
	}
}

// An agent has not ended while agents that it started in the background are at
// work: their reports wake it, and its last turn's text is its result, reported once.
func TestAnAgentWaitsForItsOwnBackgroundChildren(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background ", background), func(t *testing.T) {
			l := newLeaf()
			m := by(answers{
				agent.LeadName: lead(agentCall("c1", map[string]any{"description": "d", "prompt": "p", "subagent_type": "mid", "run_in_background": background})),
				"mid":          parent("the whole result", []string{"the leaf's report"}, behind("x1", "leaf")),
				"leaf":         l.answer,
			})
			n := coordinatortest.Start(t, m, nodeOptions{Agents: kinds})
			must(t, n.Lead.Prompt("user", "go"))
			n.Wake(agent.LeadID)
			n.Until(t, resting(n, "mid"))
			close(l.gate)
			n.AwaitRest(t)
			heard := heardIn(t, n.Lead)
			if strings.Count(heard, "the whole result") != 1 || strings.Contains(heard, "interim") || strings.Contains(heard, "the leaf's report") {
				t.Errorf("the lead heard %s", heard)
			}
			if l := ofType(n, "mid").Record(); l.Turns != 2 || !l.Closed || l.Outcome != agent.Completed {
				t.Errorf("the one between is %+v", l)
			}
		})
	}
}

func TestAnAgentThatWaitsForItsChildrenGoesOnInTheBackground(t *testing.T) {
	l := newLeaf()
	m := by(answers{
		agent.LeadName: lead(agentCall("c1", map[string]any{"description": "d", "prompt": "p", "subagent_type": "mid"})),
		"mid":          parent("the whole result", []string{"the leaf's report"}, behind("x1", "leaf")),
		"leaf":         l.answer,
	})
	n := coordinatortest.Start(t, m, nodeOptions{Agents: kinds})
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	n.Until(t, resting(n, "mid"))
	must(t, n.Background(ofType(n, "mid").ID()))
	n.Until(t, func() bool { return !n.Lead.Record().TurnOpen }) // the call has returned
	close(l.gate)
	n.AwaitRest(t)
	if heard := heardIn(t, n.Lead); strings.Count(heard, "the whole result") != 1 || !strings.Contains(heard, "in the background") {
		t.Errorf("the lead heard %s", heard)
	}
}

// What an agent's end means for those that work for it is recorded at their start,
// and holds over a crash.
func TestALinkSaysWhatAnEndMeansForThoseBelow(t *testing.T) {
	for link, want := range map[agent.Link]struct {
		lead, mid int // how often each gets the leaf's report
		leaf      agent.Outcome
	}{
		"":             {1, 0, agent.Completed},
		agent.Reparent: {1, 0, agent.Completed},
		agent.Continue: {0, 1, agent.Completed},
		agent.StopWith: {1, 0, agent.Stopped},
	} {
		t.Run("link "+string(link), func(t *testing.T) {
			l := newLeaf()
			m := by(answers{
				agent.LeadName: lead(behind("c1", "mid")),
				"mid": func(_ context.Context, step int, _ *model.Request) *model.Answer {
					switch step {
					case 0:
						return use(behind("x1", "leaf"))
					case 1:
						return nil // it fails
					}
					return say("woken")
				},
				"leaf": l.answer,
			})
			// The one between fails only when its child is at work.
			held := m
			m = gateModel{held, "mid", 1, l.begun}
			n := coordinatortest.Start(t, m, nodeOptions{Agents: kinds, Policy: spawn.Policy{OnParentEnd: link}})
			must(t, n.Lead.Prompt("user", "go"))
			n.Wake(agent.LeadID)
			n.Until(t, func() bool { mid := ofType(n, "mid"); return mid != nil && mid.Record().Closed })
			close(l.gate)
			n.AwaitRest(t)
			leaf := ofType(n, "leaf")
			count := func(a *transcript.Transcript) int {
				return strings.Count(heardIn(t, a), "<task-id>"+string(leaf.ID())+"<") + strings.Count(heardIn(t, a), `\u003ctask-id\u003e`+string(leaf.ID())+`\u003c`)
			}
			if got := leaf.Record().Outcome; link != agent.StopWith && got != want.leaf {
				t.Errorf("the leaf is %s, want %s", got, want.leaf)
			}
			if a, b := count(n.Lead), count(ofType(n, "mid")); a != want.lead || b != want.mid {
				t.Errorf("the lead heard %d times and the one between %d times, want %d and %d", a, b, want.lead, want.mid)
			}
		})
	}
}

// gateModel holds one step of one agent until a channel is closed.
type gateModel struct {
	model.Model
	kind string
	step int
	open <-chan struct{}
}

func (g gateModel) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	steps := 0
	for _, m := range r.Messages {
		if m.Role() == model.RoleAssistant {
			steps++
		}
	}
	if r.Caller.Type == g.kind && steps == g.step {
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return g.Model.Stream(ctx, r)
}

// A link to stop that a crash cut between the two ends is kept at the restart.
func TestALinkToStopSurvivesACrash(t *testing.T) {
	n := coordinatortest.New(t, t.TempDir(), by(answers{
		agent.LeadName:    lead(),
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer { return say("went on") },
	}), nodeOptions{})
	mid := member(t, n, "mid", agent.Background, agent.LeadID)
	must(t, mid.Prompt("parent", "go"))
	must(t, mid.End(agent.Failed, "a bug", "", ""))
	must(t, mid.Close("", nil))
	spec := mid.Spec()
	spec.ID, spec.Name, spec.Parent, spec.Depth, spec.Link = "leaf", "leaf", "mid", 2, agent.StopWith
	leaf, _, err := n.Store.Create(spec)
	must(t, err)
	must(t, leaf.Prompt("parent", "go"))
	n.Begin(t)
	n.AwaitRest(t)
	if l := leaf.Record(); l.Outcome != agent.Stopped || !l.Closed {
		t.Errorf("the leaf is %+v", l)
	}
}

// A stop while it waits for its children ends it as stopped, whatever it had
// answered before; its child continues and is reported above.
func TestAStopEndsAnAgentThatWaitsForItsChildren(t *testing.T) {
	l := newLeaf()
	m := by(answers{
		agent.LeadName: lead(behind("c1", "mid")),
		"mid":          parent("the whole result", []string{"the leaf's report"}, behind("x1", "leaf")),
		"leaf":         l.answer,
	})
	n := coordinatortest.Start(t, m, nodeOptions{Agents: kinds})
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	n.Until(t, resting(n, "mid"))
	mid := ofType(n, "mid")
	if left := status.Orphans(n.Status(), mid.ID()); len(left) != 1 || left[0].Link != agent.Reparent {
		t.Errorf("left behind are %v", left)
	}
	must(t, n.Stop(t.Context(), mid.ID(), turn.ErrStopped))
	close(l.gate)
	n.AwaitRest(t)
	heard := heardIn(t, n.Lead)
	if mid.Record().Outcome != agent.Stopped || !strings.Contains(heard, "d: stopped (stopped)") || strings.Count(heard, "the leaf's report") != 1 {
		t.Errorf("the one between is %+v; the lead heard %s", mid.Record(), heard)
	}
}

// An agent woken by one that works for it goes on for whom it worked before:
// two that wait for each other would wait for ever.
func TestNoAgentComesToWorkForItself(t *testing.T) {
	n := coordinatortest.New(t, t.TempDir(), by(answers{
		agent.LeadName:    lead(),
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer { return say("done") },
	}), nodeOptions{})
	a := member(t, n, "a", agent.Background, agent.LeadID)
	b := member(t, n, "b", agent.Background, "a")
	c := member(t, n, "c", agent.Background, agent.LeadID)
	for _, x := range []*transcript.Transcript{a, b, c} {
		must(t, x.Close("", nil))
	}
	must(t, n.Reopen(a.ID(), "c"))
	must(t, n.Reopen(b.ID(), "lead"))
	must(t, n.Reopen(c.ID(), "a"))
	for x, want := range map[*transcript.Transcript]mailbox.AgentID{a: "c", b: "lead", c: ""} {
		if got := x.Record().Woken.By; got != want {
			t.Errorf("%s works for %q, want %q", x.ID(), got, want)
		}
	}
}

// An agent that wakes another that has ended gets its report, also after a restart.
func TestTheAgentThatWakesAnotherGetsItsReport(t *testing.T) {
	dir := t.TempDir()
	m := by(answers{
		agent.LeadName:    lead(),
		"general-purpose": func(_ context.Context, _ int, r *model.Request) *model.Answer { return say("done: " + lastOf(r)) },
	})
	n := coordinatortest.New(t, dir, m, nodeOptions{})
	a := member(t, n, "a", agent.Background, agent.LeadID)
	b := member(t, n, "b", agent.Teammate, agent.LeadID)
	must(t, a.Close("", nil))
	must(t, n.Reopen(a.ID(), "b"))
	write(t, b, a, "again")
	n.End(t)
	n = coordinatortest.New(t, dir, m, nodeOptions{})
	n.Begin(t)
	n.AwaitRest(t)
	b, _ = n.Store.Get("b")
	const aEnded = `<task-notification>\n<task-id>a<`
	if heard := heardIn(t, b); strings.Count(heard, aEnded) != 1 || strings.Contains(heardIn(t, n.Lead), aEnded) {
		t.Errorf("b heard %s, the lead %s", heard, heardIn(t, n.Lead))
	}
}

// TestPromise3_ATreeOfAgentsReportsToEachSpawnerOnce has a tree of depth 4 and
// width 3, in which every inner agent starts its children in the background,
// ends its turn and waits. The node crashes at random points; what was not on
// disk and all that is on the wire is lost.
func TestPromise3_ATreeOfAgentsReportsToEachSpawnerOnce(t *testing.T) {
	const depth, width, crashes = 4, 3, 4
	disk, dir := journaltest.New(), t.TempDir()
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			return node("0", depth, width, step, r)
		},
		"general-purpose": func(_ context.Context, step int, r *model.Request) *model.Answer {
			return node(placeOf(r), depth, width, step, r)
		},
	})
	for round := range crashes + 1 {
		n := coordinatortest.New(t, dir, m, nodeOptions{Disk: disk, Wire: mailbox.NewMemory(), Policy: spawn.Policy{MaxDepth: depth, MaxConcurrent: 1 + rng.IntN(20)}})
		crashed := make(<-chan struct{})
		if round < crashes {
			crashed = crashAt(disk, 3+rng.IntN(60), rng)
		} else {
			disk.BeforeSync(func() {})
		}
		n.Begin(t)
		if n.Lead.Record().Turns == 0 {
			if err := n.Lead.Prompt("user", "Place 0."); err == nil {
				n.Wake(agent.LeadID)
			}
		}
		if round < crashes {
			<-crashed
			n.Abandon(t)
			continue
		}
		n.AwaitRest(t)
		checkTree(t, n, depth, width)
	}
}

func crashAt(disk *journaltest.Disk, n int, rng *rand.Rand) <-chan struct{} {
	crashed := make(chan struct{})
	var syncs atomic.Int64
	disk.BeforeSync(func() {
		if syncs.Add(1) == int64(n) {
			disk.Crash(journaltest.LoseUnsynced, rng)
			close(crashed)
		}
	})
	return crashed
}

var place = regexp.MustCompile(`Place ([0-9.]+)\.`)

func placeOf(r *model.Request) string {
	return place.FindStringSubmatch(string(r.Messages[0].Raw()))[1]
}

// node is what the agent at a place of the tree says.
func node(at string, depth, width, step int, r *model.Request) *model.Answer {
	if strings.Count(at, ".") == depth {
		return say("Report of " + at + ";")
	}
	var calls []model.Block
	missing := false
	for i := range width {
		kid := fmt.Sprintf("%s.%d", at, i)
		calls = append(calls, agentCall("c"+kid, map[string]any{"description": "d", "prompt": "Place " + kid + ".", "run_in_background": true}))
		missing = missing || !strings.Contains(userText(r.Messages), "Report of "+kid+";")
	}
	switch {
	case step == 0:
		return use(calls...)
	case missing:
		return say("waiting")
	}
	return say("Report of " + at + ";")
}

// checkTree looks into every conversation: each child's report is at exactly
// its spawner, once, and nobody else's is there.
func checkTree(t *testing.T, n *coordinatortest.Node, depth, width int) {
	t.Helper()
	count, reports := 0, 0
	for _, a := range n.Store.All() {
		l := a.Record()
		if l.Spec.Role == agent.User {
			continue
		}
		at := "0"
		if a.ID() != agent.LeadID {
			count++
			msgs, err := a.Messages()
			must(t, err)
			at = place.FindStringSubmatch(string(msgs[0].Raw()))[1]
		}
		heard := regexp.MustCompile(`Report of ([0-9.]+);`).FindAllStringSubmatch(heardIn(t, a), -1)
		seen := map[string]bool{}
		for _, h := range heard {
			if seen[h[1]] || h[1][:strings.LastIndex(h[1], ".")] != at {
				t.Errorf("%s heard of %s, once too often or not its own", at, h[1])
			}
			seen[h[1]] = true
		}
		reports += len(seen)
		if l.Result != "Report of "+at+";" {
			t.Errorf("%s ended with %+v", at, l)
		}
	}
	want := 0
	for d, level := 0, 1; d < depth; d++ {
		level *= width
		want += level
	}
	if count != want || reports != want {
		t.Errorf("%d agents and %d reports at their spawner, want %d of each", count, reports, want)
	}
}

// finished returns the end of a tool call that an event reports.
func finished(e event.Event, name string) (event.CallFinished, bool) {
	f, ok := e.Fact.(event.CallFinished)
	return f, ok && f.Call.Name == name
}
