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

// queryTimeout limits a query of the record of a process.
const queryTimeout = time.Second

// archive returns the options for reading records of agents whose processes do not run.
func (o Options) archive() archive.Options {
	return archive.Options{Prices: func() (*price.Table, error) { return o.Prices, nil }, Receipt: o.Receipt}
}

// query reads from the record of an agent: through its process or, if there is none,
// from its files.
func (f *Fleet) query(ctx context.Context, id mailbox.AgentID, what, name string) (archive.Snapshot, error) {
	if f.proc(id) == nil {
		return archive.QueryFiles(ctx, f.options.Record.Get(), f.options.archive())(id, what, name)
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	out, err := callWorker(ctx, f, id, workerapi.DoQuery(what), workerapi.NameIn{Name: name})
	if err != nil || out.Snapshot == nil {
		return archive.Snapshot{}, err
	}
	return *out.Snapshot, nil
}

// all returns the agents nested in the processes of others, except for those in the
// processes of except.
func (d Directory) all(except ...mailbox.AgentID) []actors.Status {
	ids := slices.DeleteFunc(archive.Hosts(d.f.options.Store), func(id mailbox.AgentID) bool { return slices.Contains(except, id) })
	seen := archive.Each(ids, func(id mailbox.AgentID) (archive.Snapshot, error) {
		return archive.Snapshot{Nested: d.f.Nested(id)}, nil
	})
	var all []actors.Status
	for _, id := range ids {
		all = append(all, seen[id].Nested...)
	}
	return all
}

// Nested implements actors.RemoteAgents. If a process has ended or does not answer,
// Nested returns what it has reported last.
func (f *Fleet) Nested(id mailbox.AgentID) []actors.Status {
	remembered := f.hasLastNested(id)
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

// hasLastNested reports whether the nested agents of a process that has ended are
// known.
func (f *Fleet) hasLastNested(id mailbox.AgentID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, kept := f.lastNested[id]
	return kept && f.procs[id] == nil
}
