package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
)

// bill is what a provider has charged for one answer, which bears its mark.
type bill struct {
	agent mailbox.AgentID
	mark  string
	usage model.Usage
}

// provider charges for each answer that it gives and refuses every third
// request at first.
type provider struct {
	mu       sync.Mutex
	requests int    // guarded by mu
	bills    []bill // guarded by mu
}

func (p *provider) model(say func(r *model.Request) []model.Block) model.Model {
	g := model.NewGovernor(model.GovernorOptions{MaxDelay: time.Millisecond})
	return g.Govern(modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.requests++; p.requests%3 == 0 {
			return nil, &model.Error{Kind: model.Overloaded, Status: 529, Message: "come again"}
		}
		n := int64(len(p.bills) + 1)
		mark := fmt.Sprintf("answer %d;", n)
		a := modeltest.Answer(append([]model.Block{model.Text(mark)}, say(r)...)...)
		a.Usage = model.Usage{InputTokens: 1000 * n, OutputTokens: n, CacheReadInputTokens: 7 * n, CacheCreationInputTokens: n * n}
		p.bills = append(p.bills, bill{mailbox.AgentID(r.Caller.AgentID), mark, a.Usage})
		return a, nil
	}))
}

// family is what each of 40 agents does: the lead starts four forks and five
// branches, each of which starts six leaves.
func family(r *model.Request) []model.Block {
	task := string(r.Messages[0].Raw())
	step := 0
	for _, m := range r.Messages {
		if m.Role() == model.RoleAssistant {
			step++
		}
	}
	start := func(id, kind, prompt string, background bool) model.Block {
		return agentCall(id, map[string]any{"description": "d", "prompt": prompt, "subagent_type": kind, "run_in_background": background})
	}
	var calls []model.Block
	switch {
	case r.Caller.Type == "fork" || step > 0:
		return []model.Block{model.Text("done")}
	case r.Caller.Agent == agent.LeadName:
		for i := range 4 {
			calls = append(calls, start(fmt.Sprint("f", i), "fork", "a part", i%2 == 0))
		}
		for i := range 5 {
			calls = append(calls, start(fmt.Sprint("b", i), "general-purpose", "a branch", i%2 == 0))
		}
	case strings.Contains(task, "a branch"):
		for i := range 6 {
			calls = append(calls, start(fmt.Sprint("l", i), "general-purpose", "a leaf", i%2 == 0))
		}
	default:
		calls = append(calls, coordinatortest.Call("look", "Look", nil))
	}
	return calls
}

// What 40 agents are recorded to have used is what their provider has billed for
// the answers that they have, each agent's and each subtree's, to the token; a
// crash loses at most the answer that was on its way to an agent.
func TestTheLedgerIsTheProvidersBill(t *testing.T) {
	const crashes = 2
	p, disk, dir := &provider{}, journaltest.New(), t.TempDir()
	m := p.model(family)
	look := coordinatortest.Unit{Is: tool.Spec{Name: "Look", ReadOnly: true}, Do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Text: "seen"}, nil
	}}
	var n *coordinatortest.Node
	for i, syncs := range []int{6, 12, -1} {
		n = coordinatortest.New(t, dir, m, nodeOptions{Disk: disk, Tools: []tool.Tool{look}})
		if crashed := liveUntil(t, n, disk, syncs, journaltest.LoseUnsynced); crashed != (i < crashes) {
			t.Fatalf("life %d crashed: %v", i, crashed)
		}
	}
	lost := map[mailbox.AgentID]int{}
	want := map[mailbox.AgentID]model.Usage{}
	for _, b := range p.bills {
		if has(t, n, b) {
			want[b.agent] = want[b.agent].Add(b.usage)
		} else if lost[b.agent]++; lost[b.agent] > crashes {
			t.Errorf("%s has lost %d answers", b.agent, lost[b.agent])
		}
	}
	all := n.Status()
	below := map[mailbox.AgentID]model.Usage{}
	for i := len(all) - 1; i >= 0; i-- { // children were born after their parents
		l := all[i].Record
		below[l.Spec.ID] = below[l.Spec.ID].Add(l.Usage)
		if l.Usage != want[l.Spec.ID] || l.Usage == (model.Usage{}) {
			t.Errorf("%s is recorded with %+v and billed with %+v", l.Spec.ID, l.Usage, want[l.Spec.ID])
		}
		if all[i].Subtree.Usage != below[l.Spec.ID] {
			t.Errorf("%s and all below it: %+v, want %+v", l.Spec.ID, all[i].Subtree.Usage, below[l.Spec.ID])
		}
		below[l.Spec.Parent] = below[l.Spec.Parent].Add(below[l.Spec.ID])
	}
	if len(all) != 40 {
		t.Errorf("there are %d agents", len(all))
	}
	t.Logf("%d requests, %d answers, %d agents lost one to a crash", p.requests, len(p.bills), len(lost))
}

// has reports whether an agent's conversation holds the answer of a bill.
func has(t *testing.T, n *coordinatortest.Node, b bill) bool {
	t.Helper()
	a, ok := n.Store.Get(b.agent)
	if !ok {
		return false
	}
	msgs, err := a.Messages()
	must(t, err)
	for _, m := range msgs {
		if m.Role() == model.RoleAssistant && strings.Contains(string(m.Raw()), `"`+b.mark+`"`) {
			return true
		}
	}
	return false
}
