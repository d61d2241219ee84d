package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/kernel"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// withRepeater is a lead with one child, which answers with what it was sent.
func withRepeater() model.Model {
	return by(answers{
		agent.LeadName:    lead(agentCall("c1", task(nil))),
		"general-purpose": func(_ context.Context, _ int, r *model.Request) *model.Answer { return say("seen: " + lastOf(r)) },
	})
}

// lead answers everything with ok, after the calls of its first step.
func lead(calls ...model.Block) func(context.Context, int, *model.Request) *model.Answer {
	return func(_ context.Context, step int, _ *model.Request) *model.Answer {
		if step == 0 && len(calls) > 0 {
			return use(calls...)
		}
		return say("ok")
	}
}

func task(more map[string]any) map[string]any {
	all := map[string]any{"description": "d", "prompt": "the task"}
	for k, v := range more {
		all[k] = v
	}
	return all
}

// member makes an agent in the store alone, as a node before it that crashed.
func member(t *testing.T, n *coordinatortest.Node, id mailbox.AgentID, role agent.Role, parent mailbox.AgentID) *transcript.Transcript {
	t.Helper()
	a, _, err := n.Store.Create(agent.Spec{
		ID: id, Name: string(id), Type: "general-purpose", Parent: parent, Depth: 1, Role: role,
		Model: "m", Mode: "default", Tools: n.ToolNames(), Dir: n.Lead.Spec().Dir, Born: time.Now(),
	})
	must(t, err)
	return a
}

func childOf(t *testing.T, n *coordinatortest.Node, id mailbox.AgentID) *transcript.Transcript {
	t.Helper()
	for _, a := range n.Store.All() {
		if a.Spec().Parent == id {
			return a
		}
	}
	t.Fatalf("%s has no child", id)
	return nil
}

func write(t *testing.T, from, to *transcript.Transcript, text string) {
	t.Helper()
	_, durable, err := from.Send(mailbox.Envelope{To: mailbox.Address{Agent: to.ID()}, FromName: "x", Kind: mailbox.KindText, Body: text})
	must(t, err)
	must(t, durable())
}

// A cancel overtakes the look that would have begun the turn.
func TestATurnThatIsCancelledBeforeItBeganEndsByThatName(t *testing.T) {
	synctest.Test(t, testATurnThatIsCancelledBeforeItBegan)
}

func testATurnThatIsCancelledBeforeItBegan(t *testing.T) {
	n := coordinatortest.Start(t, by(answers{agent.LeadName: lead()}), nodeOptions{})
	synctest.Wait()                      // an agent looks once when it begins
	must(t, n.Lead.Prompt("user", "go")) // nobody looks
	n.Interrupt(agent.LeadID)
	n.Until(t, func() bool { return !n.Lead.Record().TurnOpen })
	if l := n.Lead.Record(); l.Outcome != agent.Interrupted {
		t.Errorf("the lead is %+v", l)
	}
	spec := n.Lead.Spec()
	spec.ID, spec.Name, spec.Role, spec.Parent = "ann", "ann", agent.Background, agent.LeadID
	must(t, n.SpawnIdle(t.Context(), []agent.Spec{spec}))
	synctest.Wait()
	ann, _ := n.Find("ann")
	must(t, ann.Prompt("parent", "go"))
	must(t, n.Stop(t.Context(), "ann", turn.ErrStopped))
	if l := ann.Record(); l.Outcome != agent.Stopped || l.TurnOpen || !l.Closed {
		t.Errorf("ann is %+v", l)
	}
	n.End(t)
}

// Mail that was on its way when its receiver was done wakes it; one that was
// stopped stays so until somebody writes to it anew.
func TestMailThatComesAfterTheEndIsNotLost(t *testing.T) {
	m := withRepeater()
	n := coordinatortest.Start(t, m, nodeOptions{})
	n.Say(t, "go")
	child := childOf(t, n, agent.LeadID)
	write(t, n.Lead, child, "one more thing")
	n.AwaitRest(t)
	if l := child.Record(); !strings.Contains(l.Result, "one more thing") || l.Turns != 2 || !l.Closed {
		t.Fatalf("the child is %+v", l)
	}
	must(t, n.Reopen(child.ID(), agent.LeadID))
	must(t, n.Stop(t.Context(), child.ID(), turn.ErrStopped))
	write(t, n.Lead, child, "and another")
	n.AwaitRest(t)
	n.Until(t, func() bool { return len(child.Unread()) == 1 })
	if l := child.Record(); l.Turns != 2 || !l.Closed {
		t.Fatalf("a stopped child is %+v", l)
	}
}

// The same over a crash between the arrival and the wake.
func TestMailThatCameAfterTheEndIsReadAfterARestart(t *testing.T) {
	m := withRepeater()
	dir := t.TempDir()
	n := coordinatortest.New(t, dir, m, nodeOptions{})
	n.Begin(t)
	n.Say(t, "go")
	child := childOf(t, n, agent.LeadID)
	n.End(t)

	n = coordinatortest.New(t, dir, m, nodeOptions{})
	child, _ = n.Store.Get(child.ID())
	a, err := n.Store.Arrive(mailbox.Envelope{
		ID: "m1", From: mailbox.Address{Agent: "user"}, To: mailbox.Address{Agent: child.ID()}, Seq: 1,
		Kind: mailbox.KindText, FromName: "user", Body: "one more thing", Sent: time.Now(),
	}, mailbox.Cursor{})
	must(t, err)
	must(t, a.Durable())
	n.Begin(t)
	n.AwaitRest(t)
	if l := child.Record(); !strings.Contains(l.Result, "one more thing") {
		t.Errorf("the child is %+v", l)
	}
}

// In a process of its own an agent has mail from the moment at which it is known.
func TestMailThatComesWhileAnAgentIsMadeMakesNoSecondHost(t *testing.T) {
	m := by(answers{
		agent.LeadName:    lead(),
		"general-purpose": func(_ context.Context, _ int, r *model.Request) *model.Answer { return say("seen: " + lastOf(r)) },
	})
	n := coordinatortest.Start(t, m, nodeOptions{})
	for i := range 100 {
		spec := n.Lead.Spec()
		id := mailbox.AgentID(fmt.Sprintf("mate-%d", i))
		spec.ID, spec.Name, spec.Type, spec.Role, spec.Parent = id, string(id), "general-purpose", agent.Teammate, agent.LeadID
		var courier sync.WaitGroup
		courier.Go(func() {
			for _, known := n.Store.Get(id); !known && t.Context().Err() == nil; _, known = n.Store.Get(id) {
				runtime.Gosched()
			}
			_, err := n.Store.Arrive(mailbox.Envelope{
				ID: "m-" + mailbox.ID(id), From: mailbox.Address{Agent: "user"}, To: mailbox.Address{Agent: id}, Seq: 1,
				Kind: mailbox.KindText, FromName: "user", Body: "look left", Sent: time.Now(),
			}, mailbox.Cursor{})
			if err != nil {
				t.Error(err)
			}
			n.Wake(id)
		})
		must(t, n.SpawnIdle(t.Context(), []agent.Spec{spec}))
		courier.Wait()
		mate, _ := n.Find(string(id))
		n.Until(t, func() bool { return mate.Record().Turns > 0 && !mate.Record().TurnOpen })
		if l := mate.Record(); l.Incarnation != 1 || l.Steps != 1 {
			t.Fatalf("%s was started %d times and made %d steps", id, l.Incarnation, l.Steps)
		}
	}
}

func TestManyWhoWakeAnAgentAtOnceMakeOneHost(t *testing.T) {
	m := withRepeater()
	n := coordinatortest.Start(t, m, nodeOptions{})
	n.Say(t, "go")
	child := childOf(t, n, agent.LeadID)
	for i := range 20 {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := n.Reopen(child.ID(), agent.LeadID); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		text := fmt.Sprintf("thing %d.", i)
		write(t, n.Lead, child, text)
		n.AwaitRest(t)
		if l := child.Record(); !strings.Contains(l.Result, text) {
			t.Fatalf("round %d: the child is %+v", i, l)
		}
	}
}

func TestAnyEndOfTheScopeIsAShutdown(t *testing.T) {
	asked := make(chan struct{}, 2)
	m := by(answers{
		agent.LeadName: lead(agentCall("c1", task(nil))),
		"general-purpose": func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
			asked <- struct{}{}
			<-ctx.Done()
			return nil
		},
	})
	n := coordinatortest.Start(t, m, nodeOptions{})
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	<-asked
	n.Cancel(errors.New("the bus did not start"))
	must(t, n.Shutdown(t.Context()))
	calls, err := n.Lead.Calls()
	must(t, err)
	if !n.Lead.Record().TurnOpen || !childOf(t, n, agent.LeadID).Record().TurnOpen || calls[0].Done {
		t.Errorf("the lead is %+v, its call %+v", n.Lead.Record(), calls[0])
	}
}

// An agent whose host was parked is reported, and the next message to it makes
// another host: no mail is lost.
func TestAMessageWakesAParkedAgent(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	m := by(answers{
		agent.LeadName: lead(agentCall("c1", task(map[string]any{"name": "ann"}))),
		"ann": func(_ context.Context, _ int, r *model.Request) *model.Answer {
			if broken.Load() {
				panic("a bug of ours")
			}
			return say("seen: " + lastOf(r))
		},
	})
	n := coordinatortest.Start(t, m, nodeOptions{Restart: &kernel.RestartPolicy{Max: 1, Backoff: -1}})
	n.Say(t, "go")
	ann, _ := n.Find("ann")
	if l := ann.Record(); l.Outcome != agent.Failed {
		t.Fatalf("ann is %+v", l)
	}
	wantParked(t, n, "ann")
	n = reopened(t, n, m)
	wantParked(t, n, "ann")
	n.Begin(t)
	wantParked(t, n, "ann")
	ann, _ = n.Find("ann")
	broken.Store(false)
	write(t, n.Lead, ann, "are you there?")
	n.AwaitRest(t)
	if l := ann.Record(); !strings.Contains(l.Result, "are you there?") {
		t.Errorf("ann is %+v", l)
	}
}

func wantParked(t *testing.T, n *coordinatortest.Node, name string) {
	t.Helper()
	for _, s := range n.Status() {
		if agent.DisplayName(s.Record.Spec) != name {
			continue
		}
		if s.State.Name != "parked" || !strings.Contains(s.State.Detail, "a bug of ours") || strings.Contains(s.State.Detail, "given up") {
			t.Errorf("%s is %+v", name, s.State)
		}
		return
	}
	t.Errorf("there is no %s", name)
}

func TestAKillHoldsAlsoForAnAgentThatHasEnded(t *testing.T) {
	m := by(answers{
		agent.LeadName:    lead(agentCall("c1", task(nil))),
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer { return say("done") },
	})
	n := coordinatortest.Start(t, m, nodeOptions{})
	n.Say(t, "go")
	child := childOf(t, n, agent.LeadID)
	must(t, n.Stop(t.Context(), child.ID(), turn.ErrKilled))
	if err := n.Reopen(child.ID(), agent.LeadID); !errors.As(err, new(*actors.FinalError)) {
		t.Errorf("a killed agent was woken: %v", err)
	}
}

// An agent may have been started in a scope that outlasts the shutdown, as the only
// one of a process of its own is: its turn is left open all the same.
func TestAShutdownLeavesTurnsOfEveryScopeOpen(t *testing.T) {
	asked := make(chan struct{})
	m := by(answers{"general-purpose": func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
		close(asked)
		<-ctx.Done()
		return nil
	}})
	n := coordinatortest.Start(t, m, nodeOptions{})
	spec := n.Lead.Spec()
	spec.ID, spec.Name, spec.Type, spec.Role, spec.Parent = "ann-1", "ann", "general-purpose", agent.Teammate, agent.LeadID
	ann, err := n.Spawn(context.WithoutCancel(t.Context()), spec, "work")
	must(t, err)
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must(t, n.Shutdown(ctx))
	if !ann.Record().TurnOpen {
		t.Errorf("ann is %+v", ann.Record())
	}
}

// A stop has a second way out when the session ends first.
func TestAStopEndsWithTheSession(t *testing.T) {
	asked := make(chan struct{})
	m := by(answers{agent.LeadName: func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
		close(asked)
		<-ctx.Done()
		return nil
	}})
	n := coordinatortest.Start(t, m, nodeOptions{})
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	<-asked
	must(t, n.Shutdown(t.Context()))
	if err := n.Stop(context.WithoutCancel(t.Context()), agent.LeadID, turn.ErrStopped); !errors.Is(err, turn.ErrShutdown) {
		t.Errorf("a stop after the shutdown: %v", err)
	}
}

// Quiet must not overlook an end that was recorded before a crash and not reported.
func TestQuietWaitsForAnEndThatIsNotYetReported(t *testing.T) {
	n := coordinatortest.New(t, t.TempDir(), by(answers{agent.LeadName: lead()}), nodeOptions{})
	a := member(t, n, "child", agent.Background, agent.LeadID)
	must(t, a.Prompt("parent", "go"))
	must(t, a.End(agent.Completed, "", "the report", ""))
	n.Begin(t)
	n.AwaitRest(t)
	if !a.Record().Closed || n.Lead.Record().Turns != 1 {
		t.Errorf("the child is %+v, the lead %+v", a.Record(), n.Lead.Record())
	}
}

func TestAnEndIsReportedToTheNearestAboveThatHasNotEnded(t *testing.T) {
	var heard string
	m := by(answers{agent.LeadName: func(_ context.Context, _ int, r *model.Request) *model.Answer {
		heard += lastOf(r)
		return say("ok")
	}})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{})
	must(t, member(t, n, "middle", agent.Background, agent.LeadID).Close("stopped", nil))
	a := member(t, n, "child", agent.Background, "middle")
	must(t, a.Prompt("parent", "go"))
	must(t, a.End(agent.Completed, "", "the orphan's report", ""))
	n.Begin(t)
	n.AwaitRest(t)
	if strings.Count(heard, "the orphan's report") != 1 {
		t.Errorf("the lead heard %s", heard)
	}
}

// gated is a wire that carries nothing until it is opened.
type gated struct {
	mailbox.Transport
	open chan struct{}
}

func (g gated) Publish(e mailbox.Envelope) error {
	<-g.open
	return g.Transport.Publish(e)
}

// A child that has filled its parent's mailbox still reports its end.
func TestAnEndWaitsForRoomInAFullMailbox(t *testing.T) {
	wire := gated{mailbox.NewMemory(), make(chan struct{})}
	var heard string
	m := by(answers{agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
		if step == 0 {
			close(wire.open)
		}
		heard += lastOf(r)
		return say("ok")
	}})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{Wire: wire})
	a := member(t, n, "child", agent.Background, agent.LeadID)
	must(t, a.Prompt("parent", "go"))
	must(t, a.End(agent.Completed, "", "the last word", ""))
	for i := range mailbox.DefaultLimit { // unacknowledged: the lane is full
		write(t, a, n.Lead, fmt.Sprint("letter ", i))
	}
	must(t, n.Lead.Prompt("user", "go"))
	n.Begin(t)
	n.AwaitRest(t)
	if strings.Count(heard, "the last word") != 1 || !a.Record().Closed {
		t.Errorf("the lead heard %d bytes without the report; the child is %+v", len(heard), a.Record())
	}
}

// Some providers number the calls of each answer from one.
func TestACallIDThatIsUsedAgainMakesAnotherAgent(t *testing.T) {
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step < 3 {
				return use(agentCall("call_0", task(map[string]any{"prompt": fmt.Sprint("task ", step)})))
			}
			return say("ok")
		},
		"general-purpose": func(_ context.Context, _ int, r *model.Request) *model.Answer { return say("seen: " + lastOf(r)) },
	})
	n := coordinatortest.Start(t, m, nodeOptions{})
	n.Say(t, "go")
	if all := n.Status(); len(all) != 4 {
		t.Errorf("there are %d agents, want the lead and three: %+v", len(all), all)
	}
}
