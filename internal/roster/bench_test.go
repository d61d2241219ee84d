package roster_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// BenchmarkControl100Busy measures from Send until the request with a control
// message is at the model, of agents in a tool among 100 of them. Limit: p99 1 s.
func BenchmarkControl100Busy(b *testing.B) {
	n, l, heard := busy(b, 100)
	r := roster.New(n.Coordinator)
	var took []float64
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		_, err := r.Send(n.Lead, team.Message{To: fmt.Sprintf("m%02d", i%100), Text: "look up", Class: mailbox.ClassControl})
		must(b, err)
		took = append(took, (<-heard).Sub(begun).Seconds()*1000)
		<-l.began
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(took[len(took)*99/100]/1000, "x-1s-limit")
}

// busy is a node with so many agents that are all in a tool, and are again after
// each control message, whose coming it tells.
func busy(t testing.TB, agents int) (*coordinatortest.Node, *long, <-chan time.Time) {
	l, heard := newLong(), make(chan time.Time, 1)
	work := answers{agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") }}
	var specs []agent.Spec
	for i := range agents {
		name := fmt.Sprintf("m%02d", i)
		specs = append(specs, member(name))
		work[name] = func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step > 0 {
				heard <- time.Now()
			}
			return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("l", step), "Long", nil))
		}
	}
	o := options()
	o.Policy.MaxConcurrent = agents
	o.Tools = []tool.Tool{l.tool()}
	n := coordinatortest.Start(t, coordinatortest.By(work), o)
	must(t, n.SpawnIdle(t.Context(), specs))
	r := roster.New(n.Coordinator)
	for _, s := range specs {
		_, err := r.Send(n.Lead, team.Message{To: s.Name, Text: "begin"})
		must(t, err)
		<-l.began
	}
	return n, l, heard
}
