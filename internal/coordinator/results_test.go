package coordinator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// TestProblem2_EveryResultReachesTheParentAndIsKept has 200 children (80 in
// an everyday run) end in the same moment while their parent is in a tool call,
// writes the summary of its conversation, or is killed, also when the ends are on
// disk and the parent has not been given them. Each report is in one request, and
// the text of each child is the same bytes an hour and a restart later.
func TestProblem2_EveryResultReachesTheParentAndIsKept(t *testing.T) {
	bubble := func(name string, run func(t *testing.T, h *harvest)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarvest(t)
				run(t, h)
				h.check(t)
			})
		})
	}
	bubble("in mid-turn", func(t *testing.T, h *harvest) {
		h.begin(t, "go")
		close(h.ripe)
		h.Until(t, func() bool { return len(h.Lead.Unread()) == harvested })
		close(h.done)
	})
	bubble("while it compacts", func(t *testing.T, h *harvest) {
		close(h.done)
		h.begin(t, strings.Repeat("a long story. ", 20_000))
		h.Until(t, func() bool { return !h.Lead.Record().TurnOpen })
		compacted := make(chan error, 1)
		go func() { compacted <- h.Compact(t.Context(), agent.LeadID) }()
		<-h.asked
		close(h.ripe)
		h.Until(t, func() bool { return len(h.Lead.Unread()) == harvested })
		close(h.summary)
		must(t, <-compacted)
		h.AwaitRest(t)
		if text := heardIn(t, h.Lead); !strings.Contains(text, "the summary") || strings.Contains(text, "a long story") {
			t.Error("the conversation was not compacted")
		}
	})
	between := 0
	for _, sync := range []int{1, 2, 3, 4, 6, 8} {
		bubble(fmt.Sprint("killed at sync ", sync), func(t *testing.T, h *harvest) {
			h.begin(t, "go")
			crashed := crashAt(h.disk, sync, rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))))
			close(h.ripe)
			<-crashed
			h.Abandon(t)
			h.disk.BeforeSync(nil)
			if c := h.disk.Counts(); c.Crashes != 1 || c.LossyCrashes != 1 {
				t.Fatalf("the fault was not reached: %+v", c)
			}
			close(h.done)
			h.open(t)
			between += h.untold()
			h.Begin(t)
		})
	}
	if between == 0 {
		t.Error("no kill came between an end and its arrival at the parent")
	}
	t.Logf("%d ends were on disk and not with the parent at a kill", between)
}

// untold is how many children have ended without the parent having it on disk.
func (h *harvest) untold() int {
	ended := 0
	for _, a := range h.Store.All() {
		if a.Spec().Role == agent.Background && a.Record().Outcome != "" {
			ended++
		}
	}
	return ended - len(h.Lead.Unread())
}

// harvested is how many children there are.
var harvested = func() int {
	if os.Getenv("SWARM_SOAK") != "" {
		return 200
	}
	return 80
}()

// harvest is a lead with children that end when it is ripe.
type harvest struct {
	*coordinatortest.Node
	dir   string
	disk  *journaltest.Disk
	model model.Model

	begun                      atomic.Int32
	all, ripe                  chan struct{} // all are at work; they may end
	done, asked, busy, summary chan struct{} // of the lead's tool, and its compaction
}

func newHarvest(t *testing.T) *harvest {
	h := &harvest{
		dir: t.TempDir(), disk: journaltest.New(), all: make(chan struct{}), ripe: make(chan struct{}),
		done: make(chan struct{}), asked: make(chan struct{}), busy: make(chan struct{}, 10), summary: make(chan struct{}),
	}
	h.model = by(answers{agent.LeadName: h.lead, "general-purpose": func(ctx context.Context, _ int, r *model.Request) *model.Answer {
		if h.begun.Add(1) == int32(harvested) {
			close(h.all)
		}
		select {
		case <-h.ripe:
			return say(fruit(placeOf(r)))
		case <-ctx.Done():
			return nil
		}
	}})
	return h
}

// fruit is the text of the child at a place: more than a line, and not plain.
func fruit(place string) string {
	return "Report of " + place + ";" + strings.Repeat(" <b>größer</b> \t\"\\n\"  \n\n\u2028 "+place, 80) + "\n "
}

func (h *harvest) lead(ctx context.Context, step int, r *model.Request) *model.Answer {
	switch {
	case strings.Contains(lastOf(r), "about to be compacted"):
		close(h.asked)
		select {
		case <-h.summary:
			return say("the summary")
		case <-ctx.Done():
			return nil
		}
	case len(r.Messages) > 3 || strings.Contains(userText(r.Messages), "the summary"):
		return say("ok")
	case step == 1:
		return use(coordinatortest.Call("b", "Busy", nil))
	}
	var calls []model.Block
	for i := range harvested {
		calls = append(calls, agentCall(fmt.Sprint("c", i), map[string]any{"description": "d", "prompt": fmt.Sprintf("Place %d.", i), "run_in_background": true}))
	}
	return use(calls...)
}

func (h *harvest) open(t *testing.T) {
	t.Helper()
	busy := coordinatortest.Unit{Is: tool.Spec{Name: "Busy", ReadOnly: true}, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		h.busy <- struct{}{}
		select {
		case <-h.done:
		case <-ctx.Done():
		}
		return tool.Result{Text: "was busy"}, nil
	}}
	h.Node = coordinatortest.New(t, h.dir, h.model, nodeOptions{
		Disk: h.disk, Tools: []tool.Tool{busy}, Policy: spawn.Policy{MaxConcurrent: harvested, AutoBackground: -1},
	})
}

// begin returns when all children are at work and the lead is in its tool.
func (h *harvest) begin(t *testing.T, prompt string) {
	t.Helper()
	h.open(t)
	h.Begin(t)
	must(t, h.Lead.Prompt("user", prompt))
	h.Wake(agent.LeadID)
	<-h.all
	<-h.busy
}

func (h *harvest) check(t *testing.T) {
	t.Helper()
	h.AwaitRest(t)
	heard := heardIn(t, h.Lead)
	for i := range harvested {
		if got := strings.Count(heard, fmt.Sprintf("Report of %d;", i)); got != 1 {
			t.Errorf("the report of %d came %d times", i, got)
		}
	}
	h.kept(t)
	time.Sleep(time.Hour)
	h.kept(t)
	h.End(t)
	h.open(t)
	h.Begin(t)
	h.kept(t)
	h.End(t)
}

// kept checks what can be fetched of each child.
func (h *harvest) kept(t *testing.T) {
	t.Helper()
	whole := 0
	for _, a := range h.Store.All() {
		if a.Spec().Role != agent.Background {
			continue
		}
		msgs, err := a.Messages()
		must(t, err)
		if want := fruit(place.FindStringSubmatch(string(msgs[0].Raw()))[1]); a.Record().Result != want {
			t.Errorf("%s said %.60q and %.60q is kept", a.ID(), want, a.Record().Result)
		}
		whole++
	}
	if whole != harvested {
		t.Errorf("%d results are kept", whole)
	}
}
