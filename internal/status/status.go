package status

import (
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/mailbox"
)

// Complete adds to the status of each agent what all below it have used, and how its
// children are.
func Complete(all []actors.Status) []actors.Status {
	for i := range all {
		all[i].Subtree = actors.Use{Usage: all[i].Record.Usage, Cost: all[i].Cost}
	}
	rollUp(all)
	return all
}

// rollUp adds the status of children to that of their parents, from the deepest up.
func rollUp(all []actors.Status) {
	at := map[mailbox.AgentID]int{}
	order := make([]int, len(all))
	for i, s := range all {
		at[s.Record.Spec.ID], order[i] = i, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[b].Record.Spec.Depth - all[a].Record.Spec.Depth })
	for _, i := range order {
		child := all[i]
		parent, ok := at[child.Record.Spec.Parent]
		if !ok {
			continue
		}
		sum := &all[parent].Subtree
		sum.Usage, sum.Cost = sum.Usage.Add(child.Subtree.Usage), sum.Cost.Add(child.Subtree.Cost)
		if !child.Record.Closed {
			all[parent].State.ObserveChild(child.Record, child.State)
		}
	}
}
