package fleet

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
func (o Options) archive() archive.Options {
	return archive.Options{Prices: func() (*price.Table, error) { return o.Prices, nil }, Receipt: o.Receipt}
}

// query looks into the record of an agent: by its process or, when that is gone, as
// it stands.
func (f *Fleet) query(ctx context.Context, id mailbox.AgentID, what, name string) (archive.Snapshot, error) {
	if f.proc(id) == nil {
		return archive.QueryFiles(ctx, f.o.Record.Get(), f.o.archive())(id, what, name)
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	out, err := askWorker(ctx, f, id, workerapi.DoQuery(what), workerapi.NameIn{Name: name})
	if err != nil || out.Snapshot == nil {
		return archive.Snapshot{}, err
	}
	return *out.Snapshot, nil
}

// all returns the agents below those that have a process of their own, but for some
// of these.
func (d Directory) all(but ...mailbox.AgentID) []actors.Status {
	ids := slices.DeleteFunc(archive.Hosts(d.f.o.Store), func(id mailbox.AgentID) bool { return slices.Contains(but, id) })
	seen := archive.Each(ids, func(id mailbox.AgentID) (archive.Snapshot, error) {
		return archive.Snapshot{Nested: d.f.Nested(id)}, nil
	})
	var all []actors.Status
	for _, id := range ids {
		all = append(all, seen[id].Nested...)
	}
	return all
}

// Nested implements coordinator.RemoteAgents. What a process has said is kept for as long as it
// is gone or does not answer.
func (f *Fleet) Nested(id mailbox.AgentID) []actors.Status {
	remembered := f.isRemembered(id)
	var now archive.Snapshot
	var err error
	if !remembered {
		now, err = f.query(f.scope, id, archive.QueryNested, "")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !remembered && err == nil {
		f.lastNested[id] = now.Nested
	}
	return slices.Clone(f.lastNested[id])
}

// isRemembered reports whether the agents nested in a process that is gone are known.
func (f *Fleet) isRemembered(id mailbox.AgentID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, kept := f.lastNested[id]
	return kept && f.procs[id] == nil
}
