package swarm

import (
	"context"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// lookWithin is how long the process of an agent may take to say what it has on
// record.
const lookWithin = time.Second

// archive says how records of agents are opened whose processes do not run.
func (n *nodes) archive() archive.Options {
	return archive.Options{Prices: func() (*price.Table, error) { return n.o.Prices, nil }, Receipt: n.o.Receipt}
}

// look looks into the record of an agent: by its process or, when that is gone, as
// it stands.
func (n *nodes) look(ctx context.Context, id mailbox.AgentID, what, name string) (archive.Snapshot, error) {
	if n.known(id) == nil {
		return archive.QueryFiles(ctx, n.o.Record.Get(), n.archive())(id, what, name)
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	out, err := askWorker(ctx, n, id, workerapi.DoQuery(what), workerapi.NameIn{Name: name})
	if err != nil || out.Sight == nil {
		return archive.Snapshot{}, err
	}
	return *out.Sight, nil
}

// staff returns the agents below those that have a process of their own, but for some
// of these.
func (n *nodes) staff(but ...mailbox.AgentID) []actors.Status {
	ids := slices.DeleteFunc(archive.Hosts(n.o.Store), func(id mailbox.AgentID) bool { return slices.Contains(but, id) })
	seen := archive.Each(ids, func(id mailbox.AgentID) (archive.Snapshot, error) { return archive.Snapshot{Nested: n.Nested(id)}, nil })
	var all []actors.Status
	for _, id := range ids {
		all = append(all, seen[id].Nested...)
	}
	return all
}

// Nested implements actors.RemoteAgents. What a process has said is kept for as long as it
// is gone or does not answer.
func (n *nodes) Nested(id mailbox.AgentID) []actors.Status {
	kept := n.isKept(id)
	var now archive.Snapshot
	var err error
	if !kept {
		now, err = n.look(n.scope, id, archive.QueryNested, "")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !kept && err == nil {
		n.staffs[id] = now.Nested
	}
	return slices.Clone(n.staffs[id])
}

// isKept reports whether the staff of an agent is known that has no process.
func (n *nodes) isKept(id mailbox.AgentID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, kept := n.staffs[id]
	return kept && n.seats[id] == nil
}
