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

// proc is the owner's handle of the process of one agent.
type proc struct {
	spec           agent.Spec
	launch         uint32
	process        *executor.Process // nil until it is started; guarded by Fleet.mu
	reportReceived chan struct{}     // closed at the first report
	once           sync.Once
	report         workerapi.Report // guarded by Fleet.mu
	reported       time.Time        // guarded by Fleet.mu
	stuck          state.State      // set while it does not report; guarded by Fleet.mu
	leaving        bool             // it was asked to end; guarded by Fleet.mu
	// reservations are its requests in flight; guarded by Fleet.mu.
	reservations map[string]*coordinator.Reservation
}

// adoptLocked takes over a process of an earlier owner if it is the newest of its
// agent. mu is held.
func (h handlers) adoptLocked(id mailbox.AgentID, r workerapi.Report) *proc {
	t, ok := h.options.Store.Get(id)
	if !ok {
		return nil
	}
	l := t.Record()
	if l.Spec.Where == "" || l.Closed || l.Launch != r.Launch {
		return nil
	}
	p := &proc{spec: l.Spec, launch: r.Launch, reportReceived: make(chan struct{}), reported: time.Now()}
	// The process is waited for after the end of the scope too.
	p.process = executor.Adopt(context.WithoutCancel(h.scope), r.PID, h.options.lock(id))
	h.procs[id] = p
	if l.Spec.Where == agent.InTmux {
		h.hintPanes()
	}
	h.goroutines.Go(func() { h.watch(p) })
	return p
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
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	p := f.await(ctx, spec.ID)
	return p != nil && p.launch == launch // replace ends another one, which holds the agent's journal
}

// await waits for the first report of a process that an earlier owner has started. It
// returns nil if there is none, or when ctx ends.
func (f *Fleet) await(ctx context.Context, id mailbox.AgentID) *proc {
	tick := time.NewTicker(workerapi.ReportInterval / 20)
	defer tick.Stop()
	for {
		if p := f.proc(id); p != nil {
			return p
		}
		if !executor.Held(f.options.lock(id)) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// watch handles the loss of a process: when it ends or no longer reports.
func (f *Fleet) watch(p *proc) {
	tick := time.NewTicker(min(workerapi.ReportInterval/2, f.options.Silence/8))
	defer tick.Stop()
	for {
		select {
		case <-p.process.Done():
			f.handleLoss(p, fmt.Errorf("it ended: %s", f.options.lastOutput(p.spec.ID)))
			return
		case <-tick.C:
			if f.isSilent(p) {
				f.handleLoss(p, fmt.Errorf("it did not report for %v", f.options.Silence))
				return
			}
		case <-f.scope.Done():
			return
		}
	}
}

// isSilent reports whether a process counts as lost. After a third of that time without
// a report the agent is shown as stuck.
func (f *Fleet) isSilent(p *proc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	silent := time.Since(p.reported)
	if silent > f.options.Silence/3 && p.stuck.Name == "" && !p.leaving {
		p.stuck = f.parts.Agents.ProcessSilent(p.spec.ID, p.reported)
	}
	return silent > f.options.Silence
}

// recordReportLocked records a report. mu is held.
func (f *Fleet) recordReportLocked(p *proc, r workerapi.Report) {
	p.report, p.reported = r, time.Now()
	if p.stuck.Name != "" {
		p.stuck = state.State{}
		f.parts.Agents.ProcessRecovered(p.spec.ID, r.State)
	}
}

// handleLoss releases a process that was lost and lets the coordinator restart it.
func (f *Fleet) handleLoss(p *proc, why error) {
	f.mu.Lock()
	leaving := p.leaving || f.closed || f.procs[p.spec.ID] != p
	again := !leaving && f.mayRestartLocked(p.spec.ID)
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.scope), stopTimeout)
	defer cancel()
	if err := f.releaseAndForget(ctx, p); err != nil {
		why = errors.Join(why, err)
	}
	if !leaving {
		f.parts.Agents.ProcessLost(p.spec.ID, why, again)
	}
	f.parts.Agents.Notify()
}

// The process of an agent is restarted at most maxRestarts times within restartWindow.
const (
	maxRestarts   = 3
	restartWindow = time.Minute
)

func (f *Fleet) mayRestartLocked(id mailbox.AgentID) bool {
	now := time.Now()
	f.losses[id] = append(slices.DeleteFunc(f.losses[id], func(t time.Time) bool { return now.Sub(t) > restartWindow }), now)
	return len(f.losses[id]) <= maxRestarts
}
