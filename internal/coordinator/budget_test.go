package coordinator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
)

// meter is a model that bills what it gets and counts what it could still bill
// for what is in flight.
type meter struct {
	say func(r *model.Request) []model.Block

	mu       sync.Mutex
	running  int   // requests of children in flight
	most     int   // of them at the same time
	used     int64 // tokens billed
	inFlight int64 // the most that requests in flight can be billed
	worst    int64 // the most that used and inFlight ever came to
	requests int
}

func inputOf(r *model.Request) int64 {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Raw())
	}
	return int64(n) / 4
}

func (m *meter) begin(r *model.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	m.inFlight += inputOf(r) + int64(r.MaxTokens)
	m.worst = max(m.worst, m.used+m.inFlight)
	if r.Caller.Agent != agent.LeadName {
		m.running++
		m.most = max(m.most, m.running)
	}
}

func (m *meter) end(r *model.Request, u model.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight -= inputOf(r) + int64(r.MaxTokens)
	m.used += u.Total()
	if r.Caller.Agent != agent.LeadName {
		m.running--
	}
}

func (m *meter) model() model.Model {
	return modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
		m.begin(r)
		a := modeltest.Answer(m.say(r)...)
		a.Usage = model.Usage{InputTokens: inputOf(r), OutputTokens: min(900, int64(r.MaxTokens))}
		m.end(r, a.Usage)
		return a, nil
	})
}

// A swarm that only multiplies is held by every limit, and comes to rest.
func TestAnAgentThatAlwaysSpawnsFiveOfItselfIsHeld(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background ", background), func(t *testing.T) {
			m := &meter{}
			var n int
			m.say = func(*model.Request) []model.Block {
				m.mu.Lock()
				defer m.mu.Unlock()
				var calls []model.Block
				for range 5 {
					n++
					calls = append(calls, coordinatortest.Spawn(fmt.Sprint("s", n), map[string]any{
						"description": "more of me", "prompt": "start five of you", "subagent_type": "hydra", "run_in_background": background,
					}))
				}
				return calls
			}
			const limit = 200_000
			node := coordinatortest.New(t, t.TempDir(), m.model(), coordinatortest.Options{
				Agents: `{"hydra":{"description":"multiplies","prompt":"multiply"}}`,
				Policy: spawn.Policy{MaxDepth: 3, MaxConcurrent: 8, MaxAgents: 30, MaxSpawnRate: -1},
				Budget: budget.Limits{Tokens: limit},
			})
			node.Begin(t)
			lead := node.Say(t, "go")
			if lead.Outcome != agent.OverBudget || !strings.Contains(lead.Reason, "the budget of the session is used up") {
				t.Errorf("the lead ended with %s: %s", lead.Outcome, lead.Reason)
			}
			var used int64
			all := node.Status()
			for _, s := range all {
				used += s.Record.Usage.Total()
				if s.Running || s.Record.TurnOpen || s.Record.Spec.Depth > 3 {
					t.Errorf("%s runs on, at depth %d", s.Record.Spec.ID, s.Record.Spec.Depth)
				}
			}
			if len(all) > 30 || m.most > 8 || m.worst > limit || used != m.used || m.inFlight != 0 {
				t.Errorf("%d agents, %d at once, at most %d of %d tokens in use; %d are recorded and %d billed", len(all), m.most, m.worst, limit, used, m.used)
			}
			if m.used < limit-20_000 {
				t.Errorf("only %d tokens were used: nothing tested the limit", m.used)
			}
			if sum := all[0].Subtree; sum.Usage.Total() != m.used || all[0].Record.Spec.ID != agent.LeadID {
				t.Errorf("the sum at the lead is %+v", sum)
			}
		})
	}
}

// What was used before a crash is used after it.
func TestABudgetCountsWhatWasUsedBeforeARestart(t *testing.T) {
	m := &meter{say: func(*model.Request) []model.Block { return []model.Block{model.Text("done")} }}
	dir := t.TempDir()
	o := coordinatortest.Options{Budget: budget.Limits{Requests: 3}}
	for run := range 3 {
		n := coordinatortest.New(t, dir, m.model(), o)
		n.Begin(t)
		for range 2 {
			n.Say(t, "go")
		}
		if l := n.Lead.Record(); run > 0 && l.Outcome != agent.OverBudget {
			t.Errorf("run %d ended with %s", run, l.Outcome)
		}
		n.End(t)
	}
	if m.requests != 3 {
		t.Errorf("%d requests left", m.requests)
	}
	o.Budget.Requests = 5
	n := coordinatortest.New(t, dir, m.model(), o)
	n.Begin(t)
	if l := n.Say(t, "go"); l.Outcome != agent.Completed || m.requests != 4 {
		t.Errorf("with a higher limit: %s, %d requests", l.Outcome, m.requests)
	}
}

// A subtree has a budget of its own: an agent over it ends, and the one that asked continues and
// gets the reason why no more can be started there.
func TestABudgetOfASubtreeEndsTheSubtreeOnly(t *testing.T) {
	m := &meter{}
	m.say = func(r *model.Request) []model.Block {
		text := string(r.Messages[len(r.Messages)-1].Raw())
		switch {
		case r.Caller.Type == "hydra":
			return []model.Block{model.Text("at it"), coordinatortest.Call(fmt.Sprint("w", m.requests), "Look", nil)}
		case len(r.Messages) == 1:
			return []model.Block{coordinatortest.Spawn("s1", map[string]any{"description": "d", "prompt": "p", "subagent_type": "hydra"})}
		}
		return []model.Block{model.Text("I have: " + text)}
	}
	n := coordinatortest.New(t, t.TempDir(), m.model(), coordinatortest.Options{
		Agents: `{"hydra":{"description":"multiplies","prompt":"multiply"}}`,
		Policy: spawn.Policy{ChildBudget: budget.Limits{Requests: 4}},
		Tools:  []tool.Tool{wakeUp()},
	})
	n.Begin(t)
	lead := n.Say(t, "go")
	child := n.Status()[1].Record
	if child.Outcome != agent.OverBudget || child.Steps != 4 || child.Result != "at it" {
		t.Errorf("the child ended with %s after %d steps: %s", child.Outcome, child.Steps, child.Result)
	}
	if lead.Outcome != agent.Completed || !strings.Contains(lead.Result, "over_budget") || !strings.Contains(lead.Result, "at it") {
		t.Errorf("the lead ended with %s: %s", lead.Outcome, lead.Result)
	}
}

func wakeUp() tool.Tool {
	return coordinatortest.Unit{
		Is: tool.Spec{Name: "Look", ReadOnly: true},
		Do: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Text: "seen"}, nil },
	}
}

func TestASpawnWithoutBudgetIsATypedRefusal(t *testing.T) {
	list := price.List()
	for name, c := range map[string]struct {
		o     coordinatortest.Options
		model string
		want  string
	}{
		"requests": {coordinatortest.Options{Budget: budget.Limits{Requests: 1}}, "m", `{"status":"refused","reason":"over_budget","budget":"requests","owner":"the session","used":1,"limit":1}`},
		"agents":   {coordinatortest.Options{Policy: spawn.Policy{MaxAgents: 1}}, "m", `{"status":"refused","reason":"limit_agents","limit":1}`},
		"price":    {coordinatortest.Options{Budget: budget.Limits{Money: budget.Dollar}, Prices: list}, "claude-opus-5", `{"status":"refused","reason":"unpriced_model","budget":"money","owner":"the session"}`},
	} {
		t.Run(name, func(t *testing.T) {
			m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
				if len(r.Messages) > 1 {
					return modeltest.Answer(model.Text("so be it")), nil
				}
				return modeltest.Answer(coordinatortest.Spawn("s1", map[string]any{"description": "d", "prompt": "p", "model": "unheard-of"})), nil
			})
			n := coordinatortest.New(t, t.TempDir(), m, c.o)
			if err := n.Lead.Amend(c.model, "default", 0); err != nil {
				t.Fatal(err)
			}
			n.Begin(t)
			sub := n.Bus.Subscribe()
			defer sub.Close()
			n.Say(t, "go")
			for {
				e, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if f, ok := e.Fact.(event.CallFinished); ok {
					if string(f.Detail) != c.want || !f.IsError || !json.Valid(f.Detail) {
						t.Errorf("the asker is told %s", f.Detail)
					}
					return
				}
			}
		})
	}
}

func TestMoneyIsALimitAndUnknownPricesAreRefused(t *testing.T) {
	m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
		a := modeltest.Answer(coordinatortest.Call("c", "Look", nil))
		a.Message = model.AssistantMessage(coordinatortest.Call(fmt.Sprint("c", len(r.Messages)), "Look", nil))
		a.Usage = model.Usage{InputTokens: 100, OutputTokens: int64(r.MaxTokens)}
		a.Model = "claude-opus-5-20260724"
		return a, nil
	})
	o := coordinatortest.Options{Budget: budget.Limits{Money: budget.Dollar}, Prices: price.List(), Tools: []tool.Tool{wakeUp()}}
	n := coordinatortest.New(t, t.TempDir(), m, o)
	if err := n.Lead.Amend("claude-opus-5", "default", 0); err != nil {
		t.Fatal(err)
	}
	n.Begin(t)
	lead := n.Say(t, "go")
	cost := lead.Cost(nil)
	if lead.Outcome != agent.OverBudget || cost.Unknown || cost.USD > budget.Dollar || cost.USD < budget.Dollar*3/4 {
		t.Errorf("the lead ended with %s after %v: %s", lead.Outcome, cost, lead.Reason)
	}
	if lead.Models[0].Model != "claude-opus-5-20260724" {
		t.Errorf("the use is of %+v", lead.Models)
	}

	free := coordinatortest.New(t, t.TempDir(), modeltest.Each(func(context.Context, *model.Request) (*model.Answer, error) {
		return modeltest.Answer(model.Text("x")), nil
	}), coordinatortest.Options{Prices: price.List()})
	free.Begin(t)
	free.Say(t, "go")
	if s := free.Status()[0]; !s.Cost.Unknown || s.Cost.String() != "$?" {
		t.Errorf("a model without a price has cost %v", s.Cost)
	}
}

// A session that has used a model without a price does not begin under a limit
// of money: nobody knows what is left.
func TestUnknownCostsOfThePastRefuseALimitOfMoney(t *testing.T) {
	dir := t.TempDir()
	m := modeltest.Each(func(context.Context, *model.Request) (*model.Answer, error) {
		return modeltest.Answer(model.Text("x")), nil
	})
	n := coordinatortest.New(t, dir, m, coordinatortest.Options{Prices: price.List()})
	n.Begin(t)
	n.Say(t, "go")
	n.End(t)
	n = coordinatortest.New(t, dir, m, coordinatortest.Options{Prices: price.List(), Budget: budget.Limits{Money: budget.Dollar}})
	err := n.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), `the price of the model "fake" is not known`) || !strings.Contains(err.Error(), "models.yaml") {
		t.Errorf("it began: %v", err)
	}
}

func TestTheTimeOfABudgetEndsATurnInItsTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		wait := coordinatortest.Unit{Is: tool.Spec{Name: "Look"}, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Errorf("cut"), nil
		}}
		m := coordinatortest.By(coordinatortest.Answers{agent.LeadName: func(context.Context, int, *model.Request) *model.Answer {
			return modeltest.Answer(model.Text("at it"), coordinatortest.Call("c1", "Look", nil))
		}})
		n := coordinatortest.Start(t, m, coordinatortest.Options{Budget: budget.Limits{Time: 50 * time.Second}, Tools: []tool.Tool{wait}})
		lead := n.Say(t, "go")
		if took := time.Since(begun); took != 50*time.Second || lead.Outcome != agent.OverBudget || lead.Result != "at it" {
			t.Errorf("after %v it ended with %s (%s): %q", took, lead.Outcome, lead.Reason, lead.Result)
		}
		n.End(t)
	})
}

func TestSpawnsOverTheRateWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := coordinatortest.By(coordinatortest.Answers{
			agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
				if step > 0 {
					return coordinatortest.Say("done")
				}
				var calls []model.Block
				for i := range 10 {
					calls = append(calls, coordinatortest.Spawn(fmt.Sprint("s", i), map[string]any{"description": "d", "prompt": "p"}))
				}
				return coordinatortest.Use(calls...)
			},
			"general-purpose": func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("x") },
		})
		n := coordinatortest.Start(t, m, coordinatortest.Options{Policy: spawn.Policy{MaxSpawnRate: 2}})
		begun := time.Now()
		n.Say(t, "go")
		var after []int
		for _, s := range n.Status()[1:] {
			after = append(after, int(s.Record.Spec.Born.Sub(begun)/(100*time.Millisecond)))
		}
		if want := []int{0, 0, 5, 10, 15, 20, 25, 30, 35, 40}; !slices.Equal(after, want) {
			t.Errorf("they were born after %v tenths of a second, want %v", after, want)
		}
		n.End(t)
	})
}

// The limit of turns is of the turn, however many processes it takes.
func TestMaxTurnsMakesExactlyTenRequestsAcrossCrashes(t *testing.T) {
	dir := t.TempDir()
	var asked atomic.Int32
	m := modeltest.Each(func(context.Context, *model.Request) (*model.Answer, error) {
		return modeltest.Answer(coordinatortest.Call(fmt.Sprint("c", asked.Add(1)), "Look", nil)), nil
	})
	for run := range int32(3) {
		var node *coordinatortest.Node
		reached := make(chan struct{})
		cut := coordinatortest.Unit{Is: tool.Spec{Name: "Look", ReadOnly: true}, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			if asked.Load() == 4*(run+1) {
				node.Cancel(context.Canceled)
				close(reached)
				<-ctx.Done()
			}
			return tool.Result{Text: "seen"}, nil
		}}
		node = coordinatortest.New(t, dir, m, coordinatortest.Options{Tools: []tool.Tool{cut}})
		if run == 0 {
			must(t, node.Lead.Amend("m", "default", 10))
			must(t, node.Lead.Prompt("user", "go"))
		}
		node.Begin(t)
		if run < 2 {
			// The call tells that its answer is kept; what is only asked may be asked again.
			select {
			case <-reached:
			case <-t.Context().Done():
			}
		} else {
			node.Until(t, func() bool { return !node.Lead.Record().TurnOpen })
		}
		if l := node.Lead.Record(); run == 2 && (l.Outcome != agent.MaxTurns || l.Steps != 10) {
			t.Errorf("the lead ended with %s after %d steps", l.Outcome, l.Steps)
		}
		node.End(t)
	}
	if asked.Load() != 10 {
		t.Errorf("%d requests were sent", asked.Load())
	}
}
