package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

func TestForksShareTheirParentsRequestUpToTheDirectiveAndCannotFork(t *testing.T) {
	var mu sync.Mutex
	bodies := map[string]string{} // by task
	var refusal, reports string
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step > 0 {
				reports = lastOf(r)
				return say("done")
			}
			var calls []model.Block
			for i := range 5 {
				calls = append(calls, agentCall(fmt.Sprint("c", i), map[string]any{"description": "d", "prompt": fmt.Sprintf("part %d", i), "subagent_type": "fork"}))
			}
			return use(calls...)
		},
		"fork": func(_ context.Context, step int, r *model.Request) *model.Answer {
			last := lastOf(r)
			if step == 1 { // the parent's answer is the first
				task := last[strings.LastIndex(last, "part "):][:6]
				mu.Lock()
				bodies[task] = string(r.AppendBody(nil))
				mu.Unlock()
				return use(agentCall("x", map[string]any{"description": "d", "prompt": "again", "subagent_type": "fork"}))
			}
			mu.Lock()
			refusal = last
			mu.Unlock()
			return say("report")
		},
	})
	n := coordinatortest.Start(t, m, nodeOptions{})
	n.Say(t, "a long story")
	if len(bodies) != 5 || strings.Count(reports, "report") < 5 {
		t.Fatalf("%d forks ran; the lead saw %s", len(bodies), reports)
	}
	first := bodies["part 0"]
	cut := strings.LastIndex(first, "part 0") // the calls before it name every part
	for task, body := range bodies {
		if len(body) < cut || body[:cut] != first[:cut] || !strings.HasPrefix(body[cut:], task) {
			t.Errorf("%s differs before its directive", task)
		}
	}
	if !strings.Contains(first, "a long story") || !strings.Contains(refusal, "is a fork and starts no others") {
		t.Errorf("history or refusal is missing: %s", refusal)
	}
	for _, s := range n.Status() {
		if s.Record.Spec.Fork && s.Record.Spec.Type != "fork" {
			t.Errorf("%+v", s.Record.Spec)
		}
	}
}
