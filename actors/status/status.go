package status

import (
	"slices"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Status is a look at one agent.
type Status struct {
	Life    agent.Record
	State   state.State
	Running bool
	Unread  int
	Cost    budget.Cost // of the agent's own requests
	// Subtree is what the agent and all below it have used.
	Subtree Use
}

// Use is what several agents have used together.
type Use struct {
	Usage model.Usage
	Cost  budget.Cost
}

// Complete completes what is known of agents of which some were looked at in
// other processes.
func Complete(all []Status) []Status {
	for i := range all {
		all[i].Subtree = Use{all[i].Life.Usage, all[i].Cost}
	}
	rollUp(all)
	return all
}

// rollUp completes what is known of parents by what is known of their
// children, from the deepest up.
func rollUp(all []Status) {
	at := map[mailbox.AgentID]int{}
	order := make([]int, len(all))
	for i, s := range all {
		at[s.Life.Spec.ID], order[i] = i, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[b].Life.Spec.Depth - all[a].Life.Spec.Depth })
	for _, i := range order {
		child := all[i]
		parent, ok := at[child.Life.Spec.Parent]
		if !ok {
			continue
		}
		sum := &all[parent].Subtree
		sum.Usage, sum.Cost = sum.Usage.Add(child.Subtree.Usage), sum.Cost.Add(child.Subtree.Cost)
		if !child.Life.Closed {
			all[parent].State.ObserveChild(child.Life, child.State)
		}
	}
}
