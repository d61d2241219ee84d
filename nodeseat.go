package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// seat is the process of one agent, as its owner sees it.
type seat struct {
	spec    agent.Spec
	launch  uint32
	process *executor.Process // nil until it was started; guarded by nodes.mu
	alive   chan struct{}     // closed at the first report
	once    sync.Once
	said    workerapi.Report // guarded by nodes.mu
	heard   time.Time        // guarded by nodes.mu
	stuck   state.State      // while it says nothing; guarded by nodes.mu
	leaving bool             // it was asked to end; guarded by nodes.mu
	// holds are its requests in flight; guarded by nodes.mu.
	holds map[string]*actors.Reservation
}

// adoptLocked takes over a node of an earlier owner, if it is the newest of its
// agent. mu is held.
func (n *nodes) adoptLocked(id mailbox.AgentID, r workerapi.Report) *seat {
	t, ok := n.o.Store.Get(id)
	if !ok {
		return nil
	}
	l := t.Life()
	if l.Spec.Where == "" || l.Closed || l.Launch != r.Launch {
		return nil
	}
	s := &seat{spec: l.Spec, launch: r.Launch, alive: make(chan struct{}), heard: time.Now()}
	// The end of the session is when its end is waited for.
	s.process = executor.Adopt(context.WithoutCancel(n.scope), r.PID, n.lock(id))
	n.seats[id] = s
	if l.Spec.Where == agent.InTmux {
		n.tellPanes()
	}
	n.work.Go(func() { n.watch(s) })
	return s
}

// Join implements actors.RemoteAgents.
func (n *nodes) Join(ctx context.Context, spec agent.Spec, launch uint32) bool {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	s := n.awaited(ctx, spec.ID)
	return s != nil && s.launch == launch // else take ends it: it holds the agent's journal
}

// awaited waits for the report of a process that an earlier owner has started. It
// returns nil when there is none, or when ctx ends.
func (n *nodes) awaited(ctx context.Context, id mailbox.AgentID) *seat {
	tick := time.NewTicker(beat / 20)
	defer tick.Stop()
	for {
		if s := n.known(id); s != nil {
			return s
		}
		if !executor.Held(n.lock(id)) {
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
func (n *nodes) watch(s *seat) {
	tick := time.NewTicker(min(beat/2, n.o.Silence/8))
	defer tick.Stop()
	for {
		select {
		case <-s.process.Gone():
			n.lost(s, fmt.Errorf("it ended: %s", n.lastWords(s.spec.ID)))
			return
		case <-tick.C:
			if n.isSilent(s) {
				n.lost(s, fmt.Errorf("it said nothing for %v", n.o.Silence))
				return
			}
		case <-n.scope.Done():
			return
		}
	}
}

// isSilent reports a process that counts as lost. One that has been silent for a
// third of that time is shown as stuck.
func (n *nodes) isSilent(s *seat) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	silent := time.Since(s.heard)
	if silent > n.o.Silence/3 && s.stuck.Name == "" && !s.leaving {
		s.stuck = n.c.Agents.ProcessSilent(s.spec.ID, s.heard)
	}
	return silent > n.o.Silence
}

// hearLocked notes a sign of life. mu is held.
func (n *nodes) hearLocked(s *seat, r workerapi.Report) {
	s.said, s.heard = r, time.Now()
	if s.stuck.Name != "" {
		s.stuck = state.State{}
		n.c.Agents.ProcessHeard(s.spec.ID, r.State)
	}
}

func (n *nodes) lost(s *seat, why error) {
	n.mu.Lock()
	leaving := s.leaving || n.closed || n.seats[s.spec.ID] != s
	again := !leaving && n.mayAgainLocked(s.spec.ID)
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.scope), closeWithin)
	defer cancel()
	if err := n.end(ctx, s); err != nil {
		why = errors.Join(why, err)
	}
	if !leaving {
		n.c.Agents.ProcessLost(s.spec.ID, why, again)
	}
	n.c.Agents.Notify()
}

// An agent's process is started again at most so often within a while.
const (
	mostFalls = 3
	fallsIn   = time.Minute
)

func (n *nodes) mayAgainLocked(id mailbox.AgentID) bool {
	now := time.Now()
	n.fell[id] = append(slices.DeleteFunc(n.fell[id], func(t time.Time) bool { return now.Sub(t) > fallsIn }), now)
	return len(n.fell[id]) <= mostFalls
}
