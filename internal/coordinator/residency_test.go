package coordinator_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// bytesOf is what a request is made of, in the order of its body.
func bytesOf(r *model.Request) string {
	var all strings.Builder
	for _, raw := range append(append([]json.RawMessage(nil), r.Tools...), r.System...) {
		all.Write(raw)
	}
	for _, m := range r.Messages {
		all.Write(m.Raw())
	}
	return all.String()
}

// idle writes to ann, waits until she has answered and then for a while.
func idle(t *testing.T, n *coordinatortest.Node, ann *transcript.Transcript, text string, d time.Duration) {
	t.Helper()
	write(t, n.Lead, ann, text)
	n.AwaitRest(t)
	time.Sleep(d)
	synctest.Wait()
}

func TestAnIdleAgentLeavesMemoryAndComesBackWithTheSameBytes(t *testing.T) {
	for _, c := range []struct {
		name    string
		keep    time.Duration
		forgets bool
	}{
		{"by default", 0, true},
		{"after an hour", time.Hour, true},
		{"never", -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { livesAndRests(t, c.keep, c.forgets) })
		})
	}
}

func livesAndRests(t *testing.T, keep time.Duration, forgets bool) {
	var bodies []string
	m := by(answers{
		agent.LeadName: lead(agentCall("c1", task(map[string]any{"name": "ann"}))),
		"ann": func(_ context.Context, step int, r *model.Request) *model.Answer {
			bodies = append(bodies, bytesOf(r))
			return say(fmt.Sprint("answer ", step))
		},
	})
	n := coordinatortest.Start(t, m, nodeOptions{Disk: journaltest.New(), Policy: spawn.Policy{Residency: keep}})
	n.Say(t, "go")
	ann, _ := n.Find("ann")
	soon, late := time.Minute, 4*time.Minute
	if keep > 0 {
		soon, late = keep/2, 2*keep
	}
	idle(t, n, ann, "one", soon)
	if !ann.Loaded() {
		t.Error("ann left memory too early")
	}
	for _, text := range []string{"two", "three", "four"} {
		idle(t, n, ann, text, late)
		if ann.Loaded() == forgets {
			t.Errorf("after %q ann is in memory: %v", text, ann.Loaded())
		}
	}
	if len(bodies) != 5 {
		t.Fatalf("ann was asked %d times", len(bodies))
	}
	for i := range bodies[1:] {
		if !strings.HasPrefix(bodies[i+1], bodies[i]) {
			t.Errorf("request %d does not begin with the bytes of the one before:\n%s\n%s", i+1, bodies[i], bodies[i+1])
		}
	}
}

// An agent that is in a call for long is not idle.
func TestAnAgentInATurnStaysInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n *coordinatortest.Node
		slow := coordinatortest.Unit{Is: tool.Spec{Name: "Slow"}, Do: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(time.Hour)
			return tool.Result{Text: fmt.Sprint("in memory: ", n.Lead.Loaded())}, nil
		}}
		n = coordinatortest.New(t, t.TempDir(), by(answers{agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return use(coordinatortest.Call("s", "Slow", nil))
			}
			return say(lastOf(r))
		}}), nodeOptions{
			Disk: journaltest.New(), Tools: []tool.Tool{slow}, Policy: spawn.Policy{Deadlines: agent.Deadlines{Tool: -1}},
		})
		n.Begin(t)
		must(t, n.Lead.Prompt("user", "go"))
		n.Wake(agent.LeadID)
		time.Sleep(2 * time.Hour)
		if l := n.AwaitRest(t); !strings.Contains(l.Result, "in memory: true") {
			t.Error(l.Result)
		}
	})
}

// Forks of one answer that have ended and left memory come back with the bytes
// that they began with, however often they are woken.
func TestForksThatAreWokenAgainKeepEveryByteOfTheirBeginning(t *testing.T) {
	const forks, wakes = 50, 3
	history := 128 << 10
	if os.Getenv("SWARM_SOAK") != "" {
		history = 1 << 20
	}
	var mu sync.Mutex
	asked := map[string]int{} // by agent
	var first string
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			var calls []model.Block
			for i := range forks {
				calls = append(calls, agentCall(fmt.Sprint("c", i), task(map[string]any{"subagent_type": "fork"})))
			}
			if step == 0 {
				return use(calls...)
			}
			return say("ok")
		},
		"fork": func(_ context.Context, _ int, r *model.Request) *model.Answer {
			mu.Lock()
			defer mu.Unlock()
			body := bytesOf(r)
			first = cmp.Or(first, body) // the task is the same for all
			if !strings.HasPrefix(body, first) {
				t.Errorf("request %d of %s does not begin with the bytes of the first", asked[r.Caller.AgentID], r.Caller.AgentID)
			}
			asked[r.Caller.AgentID]++
			return say("report")
		},
	})
	n := coordinatortest.Start(t, m, nodeOptions{Disk: journaltest.New(), Policy: spawn.Policy{MaxConcurrent: forks}})
	n.Say(t, strings.Repeat("a long story. ", history/14+1))
	ids := slices.Collect(maps.Keys(asked))
	for i := range wakes {
		for _, id := range ids {
			fork, _ := n.Find(id)
			must(t, n.Reopen(fork.ID(), agent.LeadID))
			write(t, n.Lead, fork, fmt.Sprint("more of ", i))
		}
		n.AwaitRest(t)
	}
	if len(asked) != forks || len(first) < history {
		t.Fatalf("%d of %d forks ran, with %d bytes at first", len(asked), forks, len(first))
	}
	for id, times := range asked {
		if times != wakes+1 {
			t.Errorf("%s was asked %d times", id, times)
		}
	}
}
