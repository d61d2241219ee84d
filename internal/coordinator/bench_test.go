package coordinator_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// BenchmarkIdleAgents makes 100,000 agents that wait for their first message.
// Limits: 2 s, 8 KiB and no goroutine for each.
func BenchmarkIdleAgents(b *testing.B) {
	const agents = 100_000
	for b.Loop() {
		n := coordinatortest.New(b, b.TempDir(), coordinatortest.By(nil), coordinatortest.Options{Policy: spawn.Policy{MaxAgents: -1}})
		n.Begin(b)
		specs := make([]agent.Spec, agents)
		for i := range specs {
			specs[i] = agent.Spec{
				ID: mailbox.AgentID(fmt.Sprint("mate-", i)), Name: fmt.Sprint("mate", i), Type: "general-purpose", Role: agent.Teammate,
				Parent: agent.LeadID, Model: "m", Mode: "default", Tools: n.Lead.Spec().Tools, Born: time.Now(),
			}
		}
		heap, goroutines := inUse(), runtime.NumGoroutine()
		begun := time.Now()
		if err := n.SpawnIdle(b.Context(), specs); err != nil {
			b.Fatal(err)
		}
		took := time.Since(begun)
		b.ReportMetric(took.Seconds()/2, "x-2s-limit")
		b.ReportMetric(float64(inUse()-heap)/agents, "B/agent")
		b.ReportMetric(float64(inUse()-heap)/agents/8192, "x-8KiB-limit")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/agents, "goroutines/agent")
		n.End(b)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkSpawn200 starts 200 children in one answer. Limit: the last child's
// first request 500 ms after the answer; all results in the next request.
func BenchmarkSpawn200(b *testing.B) {
	var worst []float64
	for b.Loop() {
		worst = append(worst, spawn200(b).Seconds()*1000)
	}
	slices.Sort(worst)
	median := worst[len(worst)/2]
	b.ReportMetric(median, "ms-to-last-request")
	b.ReportMetric(median/500, "x-500ms-limit")
}

func spawn200(b *testing.B) time.Duration {
	var mu sync.Mutex
	var begun, last time.Time
	children, reported := 0, 0
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step > 0 {
				reported = len(r.Messages[len(r.Messages)-1].Blocks())
				return coordinatortest.Say("done")
			}
			var calls []model.Block
			for i := range 200 {
				calls = append(calls, coordinatortest.Spawn(fmt.Sprint("c", i), map[string]any{"description": "d", "prompt": "p"}))
			}
			begun = time.Now()
			return coordinatortest.Use(calls...)
		},
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer {
			mu.Lock()
			defer mu.Unlock()
			children++
			last = time.Now()
			return coordinatortest.Say("report")
		},
	})
	n := coordinatortest.New(b, b.TempDir(), m, coordinatortest.Options{Policy: spawn.Policy{MaxConcurrent: 200}})
	n.Begin(b)
	if err := n.Lead.Prompt("user", "go"); err != nil {
		b.Fatal(err)
	}
	n.Wake(agent.LeadID)
	n.AwaitRest(b)
	n.End(b)
	if children != 200 || reported != 200 {
		b.Fatalf("%d children ran and %d results came back", children, reported)
	}
	return last.Sub(begun)
}
