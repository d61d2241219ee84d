package swarm

import (
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/workerapi"
)

// TestProcessesShareTheBudgetOfTheirSession: teammates in processes of their own and
// those below them use one budget, which none of them is let over.
func TestProcessesShareTheBudgetOfTheirSession(t *testing.T) {
	const limit = 30
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, input: {name: ann, description: d, prompt: begin}}
        - {tool: Agent, input: {name: ben, description: d, prompt: begin}}
  - when: {agent: lead}
    say: {text: ok}
  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {description: dig, prompt: dig, run_in_background: true}}]}
  - say: {calls: [{tool: Glob, input: {pattern: '*.yaml'}}]}
`, func(o *Options) { o.Budget = budget.Limits{Requests: limit} })
	if _, err := s.Run(t.Context(), "go"); err != nil && !strings.Contains(err.Error(), "budget") {
		t.Fatal(err)
	}
	steps := func() (sum int, over int) {
		for _, a := range s.Agents() {
			sum += a.Record.Steps
			if a.Record.Outcome == agent.OverBudget {
				over++
			}
		}
		return sum, over
	}
	coordinatortest.Eventually(t, "all three are over the budget", func() bool { _, over := steps(); return over >= 3 })
	if sum, _ := steps(); sum != limit {
		t.Errorf("%d requests were made, of %d", sum, limit)
	}
	// What was used below is known after a restart of the owner too.
	info := s.Info()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rest := atRest(info)
	defer rest.Close()
	agents, err := rest.Coordinator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var used int64
	for _, x := range agents.Status() {
		l := x.Record
		used += int64(l.Steps) + l.Nested.Requests
	}
	if used != limit {
		t.Errorf("the owner knows of %d requests", used)
	}
}

// TestAReservationEndsWithItsProcess, and a report that comes again changes nothing.
func TestAReservationEndsWithItsProcess(t *testing.T) {
	s, ben := apartWith(t, "", "  - say: {text: ok}\n", func(o *Options) { o.Budget = budget.Limits{Tokens: 1_000_000} })
	first := s.fleet.Process(ben.ID())
	process := workerClient(t, s, ben.ID())
	reserve := func(in workerapi.ReserveIn) (workerapi.ReserveOut, error) {
		return rpc.Call(t.Context(), process, workerapi.UpReserve, in)
	}
	ask := workerapi.ReserveIn{Launch: ben.Record().Launch, Key: "k", Request: &budget.Request{Input: 10, MaxOutput: 600_000, MinOutput: 1, Enough: 600_000}}
	reserved, err := reserve(ask)
	if err != nil || reserved.Output != 600_000 {
		t.Fatalf("%+v, %v", reserved, err)
	}
	if again, err := reserve(ask); err != nil || again.Output != reserved.Output {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	other := ask
	other.Key = "l"
	if out, err := reserve(other); err != nil || !out.Wait {
		t.Errorf("a second request beside it: %+v, %v", out, err)
	}
	if err := first.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "its successor is there", func() bool { now := s.fleet.Process(ben.ID()); return now != nil && now != first })
	if _, err := reserve(other); err == nil {
		t.Error("the old process was let out")
	}
	other.Launch++
	coordinatortest.Eventually(t, "what was in flight is free", func() bool {
		out, err := reserve(other)
		return err == nil && out.Output == 600_000
	})
}
