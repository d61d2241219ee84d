package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
)

// counted is a model that counts four bytes a token and notes the largest
// request; say makes its answers, except summaries.
type counted struct {
	say func(ctx context.Context, r *model.Request) *model.Answer

	mu        sync.Mutex
	largest   map[string]int64 // request of each agent, in tokens
	summaries map[string]int   // made for each agent
}

func (c *counted) model() model.Model {
	c.largest, c.summaries = map[string]int64{}, map[string]int{}
	return modeltest.Each(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		size := int64(len(r.AppendBody(nil))-200) / 4
		c.mu.Lock()
		id := r.Caller.AgentID
		c.largest[id] = max(c.largest[id], size)
		var a *model.Answer
		if strings.Contains(lastOf(r), "about to be compacted") {
			c.summaries[id]++
			a = say("in short")
		}
		c.mu.Unlock()
		if a == nil {
			a = c.say(ctx, r)
		}
		if a == nil {
			return nil, model.Cancelled(ctx)
		}
		a.Usage = model.Usage{InputTokens: size, OutputTokens: int64(len(a.Message.Raw()) / 4)}
		return a, nil
	})
}

func spillTo(dir string) func(mailbox.AgentID, string, string) (string, error) {
	return func(a mailbox.AgentID, id, text string) (string, error) {
		path := filepath.Join(dir, string(a)+"-"+id)
		return path, os.WriteFile(path, []byte(text), 0o600)
	}
}

// fill gives an agent a conversation of about so many tokens, by a model's count.
func fill(t *testing.T, a *transcript.Transcript, tokens int64) {
	t.Helper()
	must(t, a.Prompt("user", "the task"))
	for i := range int64(10) {
		_, err := a.Admit(transcript.Intake{})
		must(t, err)
		call := fmt.Sprintf("fill-%d-%d", tokens, i)
		answer := use(model.ToolUse(call, "Read", nil))
		answer.Usage = model.Usage{InputTokens: 1 + tokens/10*i}
		must(t, a.Answer(answer))
		must(t, a.FinishCall(call, transcript.CallResult{Text: strings.Repeat("word ", int(tokens)*4/50)}, false))
	}
	_, err := a.Admit(transcript.Intake{})
	must(t, err)
	answer := say("filled")
	answer.Usage = model.Usage{InputTokens: tokens}
	must(t, a.Answer(answer))
	must(t, a.End(agent.Completed, "", "", ""))
}

func TestATeammateAtTheEndOfItsWindowHandlesItsMailAndAStop(t *testing.T) {
	const window = 10_000
	heard := map[string]bool{}
	stuck := make(chan struct{})
	m := &counted{}
	m.say = func(ctx context.Context, r *model.Request) *model.Answer {
		if strings.Contains(lastOf(r), "hang") {
			close(stuck)
			<-ctx.Done()
			return nil
		}
		for i := range 50 {
			if text := fmt.Sprintf("order %d.", i); strings.Contains(lastOf(r), text) {
				heard[text] = true
			}
		}
		return say("noted")
	}
	n := coordinatortest.New(t, t.TempDir(), m.model(), nodeOptions{Window: window})
	ben := member(t, n, "ben", agent.Teammate, agent.LeadID)
	fill(t, ben, window*99/100)
	n.Begin(t)
	for i := range 50 {
		write(t, n.Lead, ben, fmt.Sprintf("order %d. ", i)+strings.Repeat("word ", 200))
	}
	n.AwaitRest(t)
	if len(heard) != 50 || len(ben.Unread()) != 0 || ben.Record().Compactions == 0 {
		t.Errorf("%d of 50 messages were seen, %d are unread, %d compactions", len(heard), len(ben.Unread()), ben.Record().Compactions)
	}
	if m.largest["ben"] > window*80/100 {
		t.Errorf("a request took %d of %d tokens", m.largest["ben"], window)
	}
	write(t, n.Lead, ben, "hang")
	<-stuck
	must(t, n.Stop(t.Context(), "ben", turn.ErrStopped))
	if l := ben.Record(); !l.Closed || l.Outcome != agent.Stopped {
		t.Errorf("after the stop: %+v", l)
	}
}

func TestAStopEndsAnAgentThatIsCompacting(t *testing.T) {
	const window = 10_000
	begun := make(chan struct{})
	m := modeltest.Each(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		close(begun)
		return modeltest.Hang()(ctx, r)
	})
	n := coordinatortest.New(t, t.TempDir(), m, nodeOptions{Window: window})
	ben := member(t, n, "ben", agent.Teammate, agent.LeadID)
	fill(t, ben, window)
	n.Begin(t)
	write(t, n.Lead, ben, "order")
	<-begun
	for _, s := range n.Status() {
		if s.Record.Spec.ID == "ben" && s.State.Name != "compacting" {
			t.Errorf("while it compacts ben is %s", s.State.Name)
		}
	}
	must(t, n.Stop(t.Context(), "ben", turn.ErrStopped))
	if l := ben.Record(); !l.Closed || l.Outcome != agent.Stopped || l.Compactions != 0 {
		t.Errorf("after the stop: %+v", l)
	}
}

func TestThirtyLargeReportsAtOnceFitTheWindow(t *testing.T) {
	const children, window = 30, 200_000
	report := func(task string) string { return task + ": " + strings.Repeat("found ", 10_000) } // 15,000 tokens: together more than two windows
	m := &counted{}
	m.say = func(_ context.Context, r *model.Request) *model.Answer {
		switch {
		case r.Caller.AgentID != string(agent.LeadID):
			return say(report(r.Messages[0].Text()))
		case len(r.Messages) > 1:
			return say("all are in")
		}
		var calls []model.Block
		for i := range children {
			calls = append(calls, agentCall(fmt.Sprint("c", i), task(map[string]any{"prompt": fmt.Sprintf("part-%d-", i)})))
		}
		return use(calls...)
	}
	dir := t.TempDir()
	n := coordinatortest.New(t, dir, m.model(), nodeOptions{Window: window, Spill: spillTo(dir)})
	n.Begin(t)
	if l := n.Say(t, "ask all"); l.Result != "all are in" || l.Steps != 2 || l.Compactions > 1 {
		t.Errorf("the lead ended with %+v", l)
	}
	if m.largest["lead"] > window*80/100 {
		t.Errorf("a request took %d of %d tokens", m.largest["lead"], window)
	}
	msgs, err := n.Lead.Messages()
	must(t, err)
	got := string(msgs[len(msgs)-2].Raw())
	for i := range children {
		path := filepath.Join(dir, fmt.Sprint("lead-c", i))
		whole, err := os.ReadFile(path)
		must(t, err)
		if !strings.Contains(string(whole), report(fmt.Sprintf("part-%d-", i))) || !strings.Contains(got, path) {
			t.Errorf("the whole of report %d is not kept, or not named", i)
		}
	}
}

func TestAfterACompactionTheAgentReadsTheOtherAgents(t *testing.T) {
	const helpers = 8
	var told []string
	m := &counted{}
	m.say = func(_ context.Context, r *model.Request) *model.Answer {
		if r.Caller.AgentID == string(agent.LeadID) {
			told = append(told, lastOf(r))
		}
		return say("ok")
	}
	n := coordinatortest.New(t, t.TempDir(), m.model(), nodeOptions{})
	for i := range helpers {
		member(t, n, mailbox.AgentID(fmt.Sprint("helper", i)), agent.Teammate, agent.LeadID)
	}
	n.Begin(t)
	for round := range 3 {
		n.Say(t, strings.Repeat("word ", 8_000))
		must(t, n.Compact(t.Context(), agent.LeadID))
		n.Say(t, fmt.Sprint("go on ", round))
		got := told[len(told)-1]
		for i := range helpers {
			if want := fmt.Sprintf("helper%d", i); strings.Count(got, "id "+want) != 1 || !strings.Contains(got, "idle") {
				t.Errorf("round %d: %s is not told of once: %s", round, want, got)
			}
		}
		if !strings.Contains(got, "Unread messages to you: 0") {
			t.Errorf("round %d: nothing is said of the mail: %s", round, got)
		}
	}
	if l := n.Lead.Record(); l.Compactions != 3 || m.summaries["lead"] != 3 {
		t.Errorf("%d compactions, %d summaries", l.Compactions, m.summaries["lead"])
	}
	if len(n.Status()) != helpers+1 {
		t.Errorf("there are %d agents", len(n.Status()))
	}
}

func TestACompactionOnDemandIsMadeAtOnceOrAtTheNextStep(t *testing.T) {
	m := &counted{}
	asked := make(chan struct{})
	goOn := make(chan struct{})
	m.say = func(_ context.Context, r *model.Request) *model.Answer {
		if strings.Contains(lastOf(r), "wait for it") {
			close(asked)
			<-goOn
			return use(coordinatortest.Call("c1", "Missing", nil))
		}
		return say("done")
	}
	n := coordinatortest.Start(t, m.model(), nodeOptions{})
	if err := n.Compact(t.Context(), agent.LeadID); !errors.Is(err, turn.ErrNothingToCompact) {
		t.Errorf("nothing to compact gives %v", err)
	}
	if err := n.Compact(t.Context(), "nobody"); err == nil {
		t.Error("nobody was compacted")
	}
	n.Say(t, strings.Repeat("word ", 8_000))
	must(t, n.Compact(t.Context(), agent.LeadID))
	n.Say(t, strings.Repeat("word ", 8_000))
	must(t, n.Lead.Prompt("user", "wait for it"))
	n.Wake(agent.LeadID)
	<-asked
	sub := n.Bus.Subscribe()
	defer sub.Close()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Compact(ctx, agent.LeadID); !errors.Is(err, context.Canceled) { // the wish stays
		t.Errorf("a wait that was cancelled gives %v", err)
	}
	go func() { done <- n.Compact(t.Context(), agent.LeadID) }()
	close(goOn)
	n.AwaitRest(t)
	if err := <-done; err != nil && !errors.Is(err, turn.ErrNothingToCompact) { // it may have come later than the first
		t.Error(err)
	}
	if l := n.Lead.Record(); l.Compactions != 2 || l.Result != "done" {
		t.Errorf("the lead ended with %+v", l)
	}
	made := false
	for {
		e, err := sub.Next(t.Context())
		must(t, err)
		if f, ok := e.Fact.(event.Compacted); ok {
			made = f.Trigger == string(transcript.Manual) && f.Failed == ""
		}
		if _, ok := e.Fact.(event.TurnEnded); ok {
			break
		}
	}
	if !made {
		t.Error("nobody was told of the compaction")
	}
}
