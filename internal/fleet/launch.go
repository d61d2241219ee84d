package fleet

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

// Launch implements coordinator.RemoteAgents.
func (f *Fleet) Launch(ctx context.Context, spec agent.Spec, launch uint32) error {
	if _, err := f.parts.Bus.Served(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s := &proc{spec: spec, launch: launch, alive: make(chan struct{})}
	if err := f.replace(ctx, s); err != nil {
		return err
	}
	err := f.start(ctx, s)
	if err == nil {
		err = f.awaitReport(ctx, s)
	}
	if err != nil {
		return errors.Join(err, f.cleanUp(ctx, s))
	}
	if !f.run(func() { f.watch(s) }) {
		return errors.Join(actors.ErrShutDown, f.cleanUp(ctx, s))
	}
	f.hintPanes()
	return nil
}

// run runs work in a goroutine that close waits for, unless it has begun.
func (f *Fleet) run(work func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.work.Go(work)
	return true
}

// replace makes a launch the process of its agent. An earlier process is ended first: it
// holds the agent's journal.
func (f *Fleet) replace(ctx context.Context, s *proc) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return actors.ErrShutDown
	}
	old := f.procs[s.spec.ID]
	f.procs[s.spec.ID] = s
	f.mu.Unlock()
	if old != nil && old.process != nil {
		return f.killProcess(ctx, old.process)
	}
	return f.killHolder(ctx, f.o.lock(s.spec.ID))
}

// killHolder ends the process that holds the lock of an agent and is not known here: one that
// an earlier owner started and that has not reported here.
func (f *Fleet) killHolder(ctx context.Context, lock string) error {
	pid, ok := executor.Holder(lock)
	if !ok {
		return nil
	}
	return f.killProcess(ctx, executor.Adopt(context.WithoutCancel(f.scope), pid, lock))
}

// killProcess ends a process and what its commands left behind; where that cannot be found,
// they end with it.
func (f *Fleet) killProcess(ctx context.Context, p *executor.Process) error {
	err := p.Kill(ctx)
	if _, reaped := builtin.Reap(f.o.Record.Get().ID); reaped != nil && !errors.Is(reaped, errors.ErrUnsupported) {
		err = errors.Join(err, reaped)
	}
	return err
}

func (f *Fleet) start(ctx context.Context, s *proc) error {
	if err := os.MkdirAll(f.o.dir(s.spec.ID), 0o700); err != nil {
		return statefile.Error(f.o.Record.Get().Path, err)
	}
	args, err := f.o.command(s)
	if err != nil {
		return err
	}
	p, err := f.exec.Start(ctx, executor.Command{
		Args: args, Dir: f.o.workDir(s.spec), Log: f.o.log(s.spec.ID), Lock: f.o.lock(s.spec.ID),
		Name: agent.DisplayName(s.spec), Color: s.spec.Color,
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.process = p
	return nil
}

// workDir is where a process begins. It does not stand in the directory of an isolated
// agent: that is given back only when nobody does.
func (o Options) workDir(spec agent.Spec) string {
	if spec.Isolation == "" {
		if there, err := os.Stat(spec.Dir); err == nil && there.IsDir() {
			return spec.Dir
		}
	}
	return o.Record.Get().Dir
}

func (o Options) log(id mailbox.AgentID) string { return filepath.Join(o.dir(id), "log") }

func (o Options) command(s *proc) ([]string, error) {
	argv := o.Command
	if len(argv) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program that runs a teammate: %w", err)
		}
		argv = []string{self, "teammate"}
	}
	args := slices.Concat(argv, []string{
		"--agent-id", string(s.spec.ID), "--agent-name", agent.DisplayName(s.spec), "--team-name", o.Team,
		"--agent-color", s.spec.Color, "--agent-type", s.spec.Type, "--parent-session-id", o.Record.Get().ID,
		"--launch", strconv.Itoa(int(s.launch)), "--state-dir", o.StateDir,
	})
	if s.spec.PlanRequired {
		args = append(args, "--plan-mode-required")
	}
	return args, nil
}

// awaitReport waits for the first report of a process.
func (f *Fleet) awaitReport(ctx context.Context, s *proc) error {
	limit := time.NewTimer(f.o.FirstSign)
	defer limit.Stop()
	select {
	case <-s.alive:
		return nil
	case <-s.process.Gone():
		return fmt.Errorf("it ended at once: %s", f.o.lastWords(s.spec.ID))
	case <-limit.C:
		return fmt.Errorf("it said nothing for %v", f.o.FirstSign)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.scope.Done():
		return context.Cause(f.scope)
	}
}

// lastWords is the end of what a process without a pane wrote.
func (o Options) lastWords(id mailbox.AgentID) string {
	raw, err := os.ReadFile(o.log(id))
	if raw = bytes.TrimSpace(raw); err != nil || len(raw) == 0 {
		return "it wrote nothing"
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
		raw = raw[i+1:]
	}
	return mailbox.FirstLine(string(raw), 300)
}

// cleanUp takes back a launch that came to nothing: the process, its pane, its
// commands and, of an agent that was never born, its directory.
func (f *Fleet) cleanUp(ctx context.Context, s *proc) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := f.end(ctx, s)
	if _, born := f.o.Store.Get(s.spec.ID); !born {
		err = errors.Join(err, os.RemoveAll(f.o.dir(s.spec.ID)))
	}
	return err
}

// end is release for a process whose record says how all ended that were in it.
func (f *Fleet) end(ctx context.Context, s *proc) error {
	err := f.release(ctx, s)
	f.forget(s.spec.ID)
	return err
}

// forget makes the next look at those below an agent one at their record.
func (f *Fleet) forget(id mailbox.AgentID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lastNested, id)
}

// release kills what is left of a process and forgets it.
func (f *Fleet) release(ctx context.Context, s *proc) error {
	f.mu.Lock()
	s.leaving = true
	p := s.process
	s.endReservationsLocked()
	if f.procs[s.spec.ID] == s {
		delete(f.procs, s.spec.ID)
	}
	f.mu.Unlock()
	if p == nil {
		return nil
	}
	return f.killProcess(ctx, p)
}
