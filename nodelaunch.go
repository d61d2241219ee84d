package swarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Launch implements actors.RemoteAgents.
func (n *nodes) Launch(ctx context.Context, spec agent.Spec, launch uint32) error {
	if _, err := n.c.Bus.Served(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s := &seat{spec: spec, launch: launch, alive: make(chan struct{})}
	if err := n.take(ctx, s); err != nil {
		return err
	}
	err := n.begin(ctx, s)
	if err == nil {
		err = n.firstSign(ctx, s)
	}
	if err != nil {
		return errors.Join(err, n.clear(ctx, s))
	}
	if !n.begun(func() { n.watch(s) }) {
		return errors.Join(actors.ErrShutDown, n.clear(ctx, s))
	}
	n.tellPanes()
	return nil
}

// begun runs f in a goroutine that close waits for, unless it has begun.
func (n *nodes) begun(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.work.Go(f)
	return true
}

// take gives a seat to a launch. A process that still has it is ended first: it
// holds the agent's journal.
func (n *nodes) take(ctx context.Context, s *seat) error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return actors.ErrShutDown
	}
	old := n.seats[s.spec.ID]
	n.seats[s.spec.ID] = s
	n.mu.Unlock()
	if old != nil && old.process != nil {
		return n.kill(ctx, old.process)
	}
	return n.evict(ctx, n.lock(s.spec.ID))
}

// evict ends the process that holds the lock of an agent and has no seat: one that
// an earlier owner started and that has not reported here.
func (n *nodes) evict(ctx context.Context, lock string) error {
	pid, ok := executor.Holder(lock)
	if !ok {
		return nil
	}
	return n.kill(ctx, executor.Adopt(context.WithoutCancel(n.scope), pid, lock))
}

// kill ends a process and what its commands left behind; where that cannot be found,
// they end with it.
func (n *nodes) kill(ctx context.Context, p *executor.Process) error {
	err := p.Kill(ctx)
	if _, reaped := builtin.Reap(n.o.Record.Get().ID); reaped != nil && !errors.Is(reaped, errors.ErrUnsupported) {
		err = errors.Join(err, reaped)
	}
	return err
}

func (n *nodes) begin(ctx context.Context, s *seat) error {
	if err := os.MkdirAll(n.dir(s.spec.ID), 0o700); err != nil {
		return statefile.Error(n.o.Record.Get().Path, err)
	}
	args, err := n.command(s)
	if err != nil {
		return err
	}
	p, err := n.exec.Start(ctx, executor.Command{
		Args: args, Dir: n.workDir(s.spec), Log: n.log(s.spec.ID), Lock: n.lock(s.spec.ID),
		Name: agent.DisplayName(s.spec), Color: s.spec.Color,
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.process = p
	return nil
}

// workDir is where a process begins. It does not stand in the directory of an isolated
// agent: that is given back only when nobody does.
func (n *nodes) workDir(spec agent.Spec) string {
	if spec.Isolation == "" {
		if there, err := os.Stat(spec.Dir); err == nil && there.IsDir() {
			return spec.Dir
		}
	}
	return n.o.Record.Get().Dir
}

func (n *nodes) log(id mailbox.AgentID) string { return filepath.Join(n.dir(id), "log") }

func (n *nodes) command(s *seat) ([]string, error) {
	argv := n.o.Command
	if len(argv) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program that runs a teammate: %w", err)
		}
		argv = []string{self, "teammate"}
	}
	args := slices.Concat(argv, []string{
		"--agent-id", string(s.spec.ID), "--agent-name", agent.DisplayName(s.spec), "--team-name", n.o.Team,
		"--agent-color", s.spec.Color, "--agent-type", s.spec.Type, "--parent-session-id", n.o.Record.Get().ID,
		"--launch", strconv.Itoa(int(s.launch)), "--state-dir", n.o.StateDir,
	})
	if s.spec.PlanRequired {
		args = append(args, "--plan-mode-required")
	}
	return args, nil
}

// firstSign waits for the first report of a process.
func (n *nodes) firstSign(ctx context.Context, s *seat) error {
	limit := time.NewTimer(n.o.FirstSign)
	defer limit.Stop()
	select {
	case <-s.alive:
		return nil
	case <-s.process.Gone():
		return fmt.Errorf("it ended at once: %s", n.lastWords(s.spec.ID))
	case <-limit.C:
		return fmt.Errorf("it said nothing for %v", n.o.FirstSign)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.scope.Done():
		return context.Cause(n.scope)
	}
}

// lastWords is the end of what a process without a pane wrote.
func (n *nodes) lastWords(id mailbox.AgentID) string {
	raw, err := os.ReadFile(n.log(id))
	if raw = bytes.TrimSpace(raw); err != nil || len(raw) == 0 {
		return "it wrote nothing"
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
		raw = raw[i+1:]
	}
	return mailbox.FirstLine(string(raw), 300)
}

// clear takes back a launch that came to nothing: the process, its pane, its
// commands and, of an agent that was never born, its directory.
func (n *nodes) clear(ctx context.Context, s *seat) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	err := n.end(ctx, s)
	if _, born := n.o.Store.Get(s.spec.ID); !born {
		err = errors.Join(err, os.RemoveAll(n.dir(s.spec.ID)))
	}
	return err
}

// end is vacate for a process whose record says how all ended that were in it.
func (n *nodes) end(ctx context.Context, s *seat) error {
	err := n.vacate(ctx, s)
	n.forget(s.spec.ID)
	return err
}

// forget makes the next look at those below an agent one at their record.
func (n *nodes) forget(id mailbox.AgentID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.staffs, id)
}

// vacate kills what is left of a process and gives its seat back.
func (n *nodes) vacate(ctx context.Context, s *seat) error {
	n.mu.Lock()
	s.leaving = true
	p := s.process
	s.landLocked()
	if n.seats[s.spec.ID] == s {
		delete(n.seats, s.spec.ID)
	}
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	return n.kill(ctx, p)
}
