package roster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// TestProblem1_WhatWasReportedSentIsSeenByTheModel sends 1,000 numbered messages
// from 5 senders to an agent in a tool that does not return before they are
// sent, or that nobody has woken yet. Three times the process is killed, or the power
// is cut and what was not synced is lost. Nobody looks on.
func TestProblem1_WhatWasReportedSentIsSeenByTheModel(t *testing.T) {
	for way, loss := range map[string]journaltest.Loss{"killed": journaltest.LoseNothing, "power cut": journaltest.LoseUnsynced} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cold=%v", way, cold), func(t *testing.T) { numbered(t, cold, loss) })
		}
	}
}

func numbered(t *testing.T, cold bool, loss journaltest.Loss) {
	const senders, perStep = 5, 20
	each := soak(100, 200)
	sleeping := 0
	if cold {
		sleeping = 1
	}
	disk, dir := journaltest.New(), t.TempDir()
	rng := rand.New(rand.NewPCG(7, 8))
	var finished [senders]atomic.Bool
	var once sync.Once
	sent := make(chan struct{})
	work := answers{
		agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") },
		"sink": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 && !cold {
				return coordinatortest.Use(coordinatortest.Call("l", "Long", nil))
			}
			return coordinatortest.Say("heard")
		},
	}
	specs := []agent.Spec{member("sink")}
	for i := range senders {
		name := fmt.Sprint("sender", i)
		specs = append(specs, member(name))
		work[name] = func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step >= each/perStep {
				finished[i].Store(true)
				if !waiting(finished[:]) {
					once.Do(func() { close(sent) })
				}
				return coordinatortest.Say("sent all")
			}
			var calls []model.Block
			for k := range perStep {
				n := step*perStep + k
				calls = append(calls, send(fmt.Sprint("s", n), "sink", fmt.Sprintf("number %d of %d.", n, i)))
			}
			return coordinatortest.Use(calls...)
		}
	}
	o := options()
	o.Disk = disk
	o.Tools = []tool.Tool{coordinatortest.Unit{Is: tool.Spec{Name: "Long", ReadOnly: true}, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		select {
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		case <-sent:
			return tool.Result{Text: "a minute later"}, nil
		}
	}}}
	scope, leave := context.WithCancelCause(t.Context()) // of those who are there in the first life
	defer leave(nil)
	for crash := range 4 { // the fourth life is not cut
		o.Wire = mailbox.NewMemory() // the wire forgets everything, too
		n := coordinatortest.New(t, dir, coordinatortest.By(work), o)
		n.Begin(t)
		if crash == 0 {
			must(t, n.SpawnIdle(scope, specs))
			for _, spec := range specs[sleeping:] {
				_, err := roster.New(n.Coordinator).Send(n.Lead, team.Message{To: spec.Name, Text: "begin"})
				must(t, err)
			}
		}
		if crash < 3 {
			<-lossAt(disk, 3+rng.IntN(5), loss, rng)
			leave(turn.ErrShutdown)
			n.Abandon(t)
			continue
		}
		n.AwaitRest(t)
		if c := disk.Counts(); c.Crashes != 3 || (loss == journaltest.LoseUnsynced) != (c.LossyCrashes == 3) {
			t.Errorf("the fault was not reached: %+v", c)
		}
		checkSink(t, all(t, n, "sink"), senders, each)
		checkDelivered(t, n, "sink", senders*each)
	}
}

// checkDelivered fails unless the senders know of each message that an agent has got
// that it is delivered or read: none is dead, and none on its way.
func checkDelivered(t *testing.T, n *coordinatortest.Node, id mailbox.AgentID, least int) {
	t.Helper()
	inbox, err := n.Store.Inbox(id)
	must(t, err)
	states := map[mailbox.State]int{}
	for _, m := range inbox {
		from, _ := n.Store.Get(m.Envelope.From.Agent)
		s, _ := from.Status(m.Envelope.ID)
		states[s.State]++
	}
	known := states[mailbox.StateRead] + states[mailbox.StateDelivered]
	if known < least || known != len(inbox) || len(n.Store.Pending()) != 0 {
		t.Errorf("the senders of %d messages know of %v; %d are on their way", len(inbox), states, len(n.Store.Pending()))
	}
}

func waiting(all []atomic.Bool) bool {
	for i := range all {
		if !all[i].Load() {
			return true
		}
	}
	return false
}
