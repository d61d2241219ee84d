package coordinator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

const (
	levels   = 4  // the lead and three generations
	perLevel = 10 // counting calls of each
)

// tally is what counting calls change outside: it outlives every crash.
type tally struct {
	mu    sync.Mutex
	times map[string]int // by unit; guarded by mu
}

func (c *tally) tools() []tool.Tool {
	count := coordinatortest.Unit{Is: tool.Spec{Name: "Count"}, Do: func(_ context.Context, call tool.Call) (tool.Result, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.times[string(call.Input)]++
		return tool.Result{Text: "it is counted"}, nil
	}}
	check := coordinatortest.Unit{Is: tool.Spec{Name: "Check", ReadOnly: true}, Do: func(_ context.Context, call tool.Call) (tool.Result, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.times[string(call.Input)] > 0 {
			return tool.Result{Text: "it is counted"}, nil
		}
		return tool.Result{Text: "it is missing"}, nil
	}}
	return []tool.Tool{count, check}
}

var levelOf = regexp.MustCompile(`level (\d)`)

// counts are the answers of each agent: it counts its units one by one, has
// its child count in between, and checks before it repeats a call in doubt.
func counts(_ context.Context, step int, r *model.Request) *model.Answer {
	var story strings.Builder
	for _, m := range r.Messages {
		if m.Role() == model.RoleUser {
			story.Write(m.Raw())
		}
	}
	level := int(levelOf.FindStringSubmatch(story.String())[1][0] - '0')
	done := strings.Count(story.String(), "it is counted")
	call := func(name string) *model.Answer {
		return use(coordinatortest.Call(fmt.Sprint("call", step), name, map[string]any{"unit": fmt.Sprintf("%d.%d", level, done)}))
	}
	switch {
	case strings.Contains(lastOf(r), "in doubt"):
		return call("Check")
	case done == perLevel:
		return say("all counted")
	case done == perLevel/2 && level+1 < levels && !strings.Contains(story.String(), "Report of agent"):
		return use(agentCall(fmt.Sprint("call", step), task(map[string]any{"prompt": fmt.Sprint("level ", level+1)})))
	}
	return call("Count")
}

// countingNode is one life of the swarm on a disk.
func countingNode(t *testing.T, dir string, disk *journaltest.Disk, c *tally) *coordinatortest.Node {
	t.Helper()
	m := by(answers{agent.LeadName: counts, "general-purpose": counts})
	return coordinatortest.New(t, dir, m, nodeOptions{Disk: disk, Segment: 64 << 10, Tools: c.tools()})
}

// liveUntil lets the swarm live until the disk crashes before its n-th sync, or
// until all is counted. It reports whether it crashed.
func liveUntil(t *testing.T, n *coordinatortest.Node, disk *journaltest.Disk, syncs int, loss journaltest.Loss) bool {
	t.Helper()
	var seen atomic.Int64
	disk.BeforeSync(func() {
		if seen.Add(1) == int64(syncs) {
			disk.Crash(loss, nil)
		}
	})
	n.Begin(t)
	if n.Lead.Record().Turns == 0 {
		if err := n.Lead.Prompt("user", "level 0"); err == nil {
			n.Wake(agent.LeadID)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-n.Store.Failed():
			cancel()
		case <-ctx.Done():
		}
	}()
	crashed := n.Quiet(ctx) != nil || n.Store.Err() != nil
	if crashed {
		n.Abandon(t)
	}
	disk.BeforeSync(nil)
	return crashed
}

// noteDoubts adds the calls whose result a crash has taken.
func noteDoubts(t *testing.T, n *coordinatortest.Node, doubts map[string]bool) {
	t.Helper()
	for _, a := range n.Store.All() {
		all, err := a.Calls()
		must(t, err)
		for _, c := range all {
			if c.Started && !c.Done && c.Name == "Count" {
				doubts[string(a.ID())+" "+c.ID] = true
			}
		}
	}
}

// told counts the reports of calls in doubt that the agents have read.
func told(t *testing.T, n *coordinatortest.Node) (reports int) {
	t.Helper()
	for _, a := range n.Store.All() {
		msgs, err := a.Messages()
		must(t, err)
		for _, m := range msgs {
			reports += strings.Count(string(m.Raw()), "in doubt: this Count call")
		}
	}
	return reports
}

// TestPromise5_AKillAtEveryBoundaryOfTheJournalCountsEachCallOnce kills a run of
// 40 counting calls, three generations deep, before and after what each sync of
// the journal makes durable, and again while it recovers: each unit is counted
// once, and each call that a kill interrupted is reported once.
func TestPromise5_AKillAtEveryBoundaryOfTheJournalCountsEachCallOnce(t *testing.T) {
	disk := journaltest.New()
	before := disk.Counts().Syncs
	n := countingNode(t, t.TempDir(), disk, &tally{times: map[string]int{}})
	if liveUntil(t, n, disk, -1, journaltest.LoseNothing) || n.Lead.Record().Result != "all counted" {
		t.Fatalf("without a crash the lead is %+v", n.Lead.Record())
	}
	boundaries := disk.Counts().Syncs - before
	n.End(t)
	stride := 8
	if os.Getenv("SWARM_SOAK") != "" {
		stride = 1
	}
	kills, doubts := 0, 0
	for at := 1; at <= boundaries; at += stride {
		for _, loss := range []journaltest.Loss{journaltest.LoseNothing, journaltest.LoseUnsynced} {
			k, d := countThrough(t, at, loss)
			kills, doubts = kills+k, doubts+d
		}
	}
	t.Logf("%d boundaries, every %d-th: %d kills, %d calls in doubt", boundaries, stride, kills, doubts)
	if kills < boundaries/stride || doubts == 0 {
		t.Errorf("%d kills and %d doubts prove little", kills, doubts)
	}
}

// countThrough is one run that is killed at a boundary and soon again.
func countThrough(t *testing.T, at int, loss journaltest.Loss) (kills, inDoubt int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(at), uint64(loss)))
	dir, disk, c := t.TempDir(), journaltest.New(), &tally{times: map[string]int{}}
	doubts := map[string]bool{} // by agent and call
	for _, syncs := range []int{at, 1 + rng.IntN(12), -1} {
		n := countingNode(t, dir, disk, c)
		noteDoubts(t, n, doubts)
		if liveUntil(t, n, disk, syncs, loss) {
			kills++
			continue
		}
		checkCounted(t, n, c, len(doubts), fmt.Sprintf("killed %d times, first at boundary %d with loss %d", kills, at, loss))
		n.End(t)
		return kills, len(doubts)
	}
	t.Fatal("the last life was cut")
	return 0, 0
}

func checkCounted(t *testing.T, n *coordinatortest.Node, c *tally, doubts int, when string) {
	t.Helper()
	if l := n.Lead.Record(); l.Outcome != agent.Completed || l.Result != "all counted" {
		t.Errorf("%s: the lead is %+v", when, l)
	}
	if len(c.times) != levels*perLevel {
		t.Errorf("%s: %d of %d units are counted", when, len(c.times), levels*perLevel)
	}
	for unit, times := range c.times {
		if times != 1 {
			t.Errorf("%s: %s is counted %d times", when, unit, times)
		}
	}
	if reports := told(t, n); reports != doubts {
		t.Errorf("%s: %d calls are in doubt and %d were reported", when, doubts, reports)
	}
	if agents := len(n.Status()); agents != levels {
		t.Errorf("%s: there are %d agents", when, agents)
	}
}
