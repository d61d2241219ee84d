package status

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

func TestAParentIsSeenThroughItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := time.Now().Add(-time.Hour)
		status := func(depth int, id, parent string, r agent.Role, s state.State) actors.Status {
			l := agent.Record{TurnOpen: s.Name != state.Idle, Spec: agent.Spec{Depth: depth, ID: mailbox.AgentID(id), Parent: mailbox.AgentID(parent), Role: r}}
			return actors.Status{Record: l, State: s}
		}
		all := []actors.Status{
			status(0, "lead", "", agent.Lead, state.State{Name: state.Idle, Progress: long}),
			status(1, "a", "lead", agent.Background, state.State{Name: state.Waiting, Detail: state.WaitsForChild, Progress: long}),
			status(2, "b", "a", agent.Foreground, state.State{Name: state.Waiting, Detail: state.WaitsForChild, Progress: long}),
			status(3, "c", "b", agent.Foreground, state.State{Name: state.InTool, Progress: time.Now()}),
			status(1, "ann", "lead", agent.Teammate, state.State{Name: state.Idle, Progress: long}),
		}
		rollUp(all)
		if s := all[0].State; s.Name != state.Waiting || s.Detail != state.WaitsForMail {
			t.Errorf("the lead is %+v", s)
		}
		for _, s := range all[1:3] {
			if !s.State.Progress.Equal(time.Now()) {
				t.Errorf("%s waits for one that works: %+v", s.Record.Spec.ID, s.State)
			}
		}
		if s := all[4].State; s.Name != state.Idle {
			t.Errorf("ann is %+v", s)
		}
	})
}
