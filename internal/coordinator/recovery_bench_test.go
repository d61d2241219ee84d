package coordinator_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

const (
	treeChildren = 99
	treeSteps    = 10      // answers of each child before the call that is cut
	treeResult   = 4 << 10 // bytes of each result
)

// BenchmarkRecover100 opens what a kill leaves of a lead and 99 children, each
// with 40 KB of history and in a call that never came back. Limit: 2 s from the
// open to the last agent's next request, which reports its call in doubt.
func BenchmarkRecover100(b *testing.B) {
	dir := b.TempDir()
	killedTree(b, dir)
	for b.Loop() {
		copied := b.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			b.Fatal(err)
		}
		took := recoverTree(b, copied)
		b.ReportMetric(took.Seconds()*1000, "ms-to-last-request")
		b.ReportMetric(took.Seconds()/2, "x-2s-limit")
	}
}

// killedTree leaves in dir what a kill leaves of the tree: a copy of the files
// as they are while everybody is in a call.
func killedTree(b *testing.B, dir string) {
	b.Helper()
	var busy sync.WaitGroup
	busy.Add(treeChildren)
	work := coordinatortest.Unit{Is: tool.Spec{Name: "Work"}, Do: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if c.ID == fmt.Sprint("w", treeSteps) {
			busy.Done()
			<-ctx.Done()
		}
		return tool.Result{Text: strings.Repeat("result ", treeResult/7)}, nil
	}}
	m := by(answers{
		agent.LeadName: func(context.Context, int, *model.Request) *model.Answer {
			var calls []model.Block
			for i := range treeChildren {
				calls = append(calls, agentCall(fmt.Sprint("c", i), task(nil)))
			}
			return use(calls...)
		},
		"general-purpose": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			return use(coordinatortest.Call(fmt.Sprint("w", step), "Work", nil))
		},
	})
	living := b.TempDir()
	n := coordinatortest.New(b, living, m, nodeOptions{Tools: []tool.Tool{work}, Policy: spawn.Policy{MaxConcurrent: treeChildren, MaxSpawnRate: -1}})
	n.Begin(b)
	must(b, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	busy.Wait()
	must(b, n.Store.Sync())
	must(b, os.CopyFS(dir, os.DirFS(living)))
	n.End(b)
}

func recoverTree(b *testing.B, dir string) time.Duration {
	b.Helper()
	var mu sync.Mutex
	told := map[string]int{} // by agent
	all := make(chan struct{})
	m := by(answers{
		agent.LeadName: lead(),
		"general-purpose": func(_ context.Context, _ int, r *model.Request) *model.Answer {
			mu.Lock()
			defer mu.Unlock()
			told[r.Caller.AgentID] += strings.Count(lastOf(r), "in doubt: this Work call")
			if len(told) == treeChildren {
				close(all)
			}
			return say("done")
		},
	})
	work := coordinatortest.Unit{Is: tool.Spec{Name: "Work"}}
	begun := time.Now()
	n := coordinatortest.New(b, dir, m, nodeOptions{Tools: []tool.Tool{work}, Policy: spawn.Policy{MaxConcurrent: treeChildren}})
	n.Begin(b)
	<-all
	took := time.Since(begun)
	n.AwaitRest(b)
	for id, times := range told {
		if times != 1 {
			b.Errorf("%s was told %d times of the call that was cut", id, times)
		}
	}
	n.End(b)
	return took
}

// reader is a model that has read what it was given, and keeps none of it.
type reader struct{}

func (reader) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{Kind: model.Finished, Answer: say("read")}, nil)
	}
}

// BenchmarkResidency measures what an agent with a history of 16 KB costs while
// it is in memory and once it has left it. Limit: 8 KiB for one that has left.
func BenchmarkResidency(b *testing.B) {
	const mates = 1000
	for b.Loop() {
		n := coordinatortest.New(b, b.TempDir(), reader{}, nodeOptions{Policy: spawn.Policy{MaxAgents: -1, MaxConcurrent: 8, Residency: time.Hour}})
		n.Begin(b)
		before := inUse()
		var all []*transcript.Transcript
		for i := range mates {
			t, err := n.Spawn(b.Context(), agent.Spec{
				ID: mailbox.AgentID(fmt.Sprint("mate-", i)), Type: "general-purpose", Role: agent.Teammate,
				Parent: agent.LeadID, Model: "m", Mode: "default", Tools: n.Lead.Spec().Tools, Born: time.Now(),
			}, strings.Repeat("a long story. ", 16<<10/14))
			must(b, err)
			all = append(all, t)
		}
		n.AwaitRest(b)
		b.ReportMetric(float64(inUse()-before)/mates, "B/loaded")
		for _, t := range all {
			t.Forget() // as the sweep does
		}
		b.ReportMetric(float64(inUse()-before)/mates, "B/idle")
		b.ReportMetric(float64(inUse()-before)/mates/8192, "x-8KiB-limit")
		n.End(b)
	}
}
