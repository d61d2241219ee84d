package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// proc is the process of one agent, as its owner sees it.
type proc struct {
	spec     agent.Spec
	launch   uint32
	process  *executor.Process // nil until it was started; guarded by Fleet.mu
	alive    chan struct{}     // closed at the first report
	once     sync.Once
	report   workerapi.Report // guarded by Fleet.mu
	reported time.Time        // guarded by Fleet.mu
	silent   state.State      // while it says nothing; guarded by Fleet.mu
	leaving  bool             // it was asked to end; guarded by Fleet.mu
	// reservations are its requests in flight; guarded by Fleet.mu.
	reservations map[string]*coordinator.Reservation
}

// adoptLocked takes over a process of an earlier owner, if it is the newest of its
// agent. mu is held.
func (h Handlers) adoptLocked(id mailbox.AgentID, r workerapi.Report) *proc {
	t, ok := h.o.Store.Get(id)
	if !ok {
		return nil
	}
	l := t.Life()
	if l.Spec.Where == "" || l.Closed || l.Launch != r.Launch {
		return nil
	}
	s := &proc{spec: l.Spec, launch: r.Launch, alive: make(chan struct{}), reported: time.Now()}
	// The end of the session is when its end is waited for.
	s.process = executor.Adopt(context.WithoutCancel(h.scope), r.PID, h.o.lock(id))
	h.procs[id] = s
	if l.Spec.Where == agent.InTmux {
		h.hintPanes()
	}
	h.work.Go(func() { h.watch(s) })
	return s
}

// Process returns the process of an agent, or nil if none is known.
func (f *Fleet) Process(id mailbox.AgentID) *executor.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.procs[id]; p != nil {
		return p.process
	}
	return nil
}

// Disown forgets the process of an agent, as if an earlier owner had started it: what is
// left is its lock. then is called before the process can report again.
func (f *Fleet) Disown(id mailbox.AgentID, then func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.procs[id]; p != nil {
		p.leaving = true
		delete(f.procs, id)
	}
	then()
}

// Join implements coordinator.RemoteAgents.
func (f *Fleet) Join(ctx context.Context, spec agent.Spec, launch uint32) bool {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	s := f.await(ctx, spec.ID)
	return s != nil && s.launch == launch // else take ends it: it holds the agent's journal
}

// await waits for the report of a process that an earlier owner has started. It
// returns nil when there is none, or when ctx ends.
func (f *Fleet) await(ctx context.Context, id mailbox.AgentID) *proc {
	tick := time.NewTicker(workerapi.ReportInterval / 20)
	defer tick.Stop()
	for {
		if s := f.proc(id); s != nil {
			return s
		}
		if !executor.Held(f.o.lock(id)) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// watch sees to it that a process that ends, or that says nothing any more, is
// followed by another.
func (f *Fleet) watch(s *proc) {
	tick := time.NewTicker(min(workerapi.ReportInterval/2, f.o.Silence/8))
	defer tick.Stop()
	for {
		select {
		case <-s.process.Gone():
			f.lost(s, fmt.Errorf("it ended: %s", f.o.lastWords(s.spec.ID)))
			return
		case <-tick.C:
			if f.isSilent(s) {
				f.lost(s, fmt.Errorf("it said nothing for %v", f.o.Silence))
				return
			}
		case <-f.scope.Done():
			return
		}
	}
}

// isSilent reports a process that counts as lost. One that has been silent for a
// third of that time is shown as stuck.
func (f *Fleet) isSilent(s *proc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	silent := time.Since(s.reported)
	if silent > f.o.Silence/3 && s.silent.Name == "" && !s.leaving {
		s.silent = f.parts.Agents.ProcessSilent(s.spec.ID, s.reported)
	}
	return silent > f.o.Silence
}

// noteLocked notes a sign of life. mu is held.
func (f *Fleet) noteLocked(s *proc, r workerapi.Report) {
	s.report, s.reported = r, time.Now()
	if s.silent.Name != "" {
		s.silent = state.State{}
		f.parts.Agents.ProcessHeard(s.spec.ID, r.State)
	}
}

func (f *Fleet) lost(s *proc, why error) {
	f.mu.Lock()
	leaving := s.leaving || f.closed || f.procs[s.spec.ID] != s
	again := !leaving && f.mayRestartLocked(s.spec.ID)
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.scope), stopWithin)
	defer cancel()
	if err := f.end(ctx, s); err != nil {
		why = errors.Join(why, err)
	}
	if !leaving {
		f.parts.Agents.ProcessLost(s.spec.ID, why, again)
	}
	f.parts.Agents.Notify()
}

// An agent's process is started again at most so often within a while.
const (
	MostRestarts   = 3
	restartsWithin = time.Minute
)

func (f *Fleet) mayRestartLocked(id mailbox.AgentID) bool {
	now := time.Now()
	f.losses[id] = append(slices.DeleteFunc(f.losses[id], func(t time.Time) bool { return now.Sub(t) > restartsWithin }), now)
	return len(f.losses[id]) <= MostRestarts
}
