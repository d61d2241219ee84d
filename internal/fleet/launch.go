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
	if _, err := f.parts.Bus.LocalConn(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := &proc{spec: spec, launch: launch, reportReceived: make(chan struct{})}
	if err := f.replace(ctx, p); err != nil {
		return err
	}
	err := f.start(ctx, p)
	if err == nil {
		err = f.awaitReport(ctx, p)
	}
	if err != nil {
		return errors.Join(err, f.undoLaunch(ctx, p))
	}
	if !f.run(func() { f.watch(p) }) {
		return errors.Join(actors.ErrShutDown, f.undoLaunch(ctx, p))
	}
	f.hintPanes()
	return nil
}

// run runs work in a goroutine that Wait waits for. It returns false if Close has been
// called.
func (f *Fleet) run(work func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.goroutines.Go(work)
	return true
}

// replace records p as the process of its agent. It first ends an earlier process,
// which holds the agent's journal.
func (f *Fleet) replace(ctx context.Context, p *proc) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return actors.ErrShutDown
	}
	old := f.procs[p.spec.ID]
	f.procs[p.spec.ID] = p
	f.mu.Unlock()
	if old != nil && old.process != nil {
		return f.killProcess(ctx, old.process)
	}
	return f.killHolder(ctx, f.options.lock(p.spec.ID))
}

// killHolder ends the process that holds the lock of an agent and has not reported
// here. An earlier owner has started it.
func (f *Fleet) killHolder(ctx context.Context, lock string) error {
	pid, ok := executor.Holder(lock)
	if !ok {
		return nil
	}
	return f.killProcess(ctx, executor.Adopt(context.WithoutCancel(f.scope), pid, lock))
}

// killProcess ends a process and its commands. On systems where commands cannot be
// found, they end with the process.
func (f *Fleet) killProcess(ctx context.Context, p *executor.Process) error {
	err := p.Kill(ctx)
	if _, reaped := builtin.Reap(f.options.Record.Get().ID); reaped != nil && !errors.Is(reaped, errors.ErrUnsupported) {
		err = errors.Join(err, reaped)
	}
	return err
}

func (f *Fleet) start(ctx context.Context, p *proc) error {
	if err := os.MkdirAll(f.options.dir(p.spec.ID), 0o700); err != nil {
		return statefile.Error(f.options.Record.Get().Path, err)
	}
	args, err := f.options.command(p)
	if err != nil {
		return err
	}
	process, err := f.executor.Start(ctx, executor.Command{
		Args: args, Dir: f.options.workDir(p.spec), Log: f.options.log(p.spec.ID), Lock: f.options.lock(p.spec.ID),
		Name: agent.DisplayName(p.spec), Color: p.spec.Color,
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p.process = process
	return nil
}

// workDir returns the directory in which a process starts. It is not that of an
// isolated agent, because a lease can only be released when no process is in its
// directory.
func (o Options) workDir(spec agent.Spec) string {
	if spec.Isolation == "" {
		if there, err := os.Stat(spec.Dir); err == nil && there.IsDir() {
			return spec.Dir
		}
	}
	return o.Record.Get().Dir
}

func (o Options) log(id mailbox.AgentID) string { return filepath.Join(o.dir(id), "log") }

func (o Options) command(p *proc) ([]string, error) {
	argv := o.Command
	if len(argv) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program that runs a teammate: %w", err)
		}
		argv = []string{self, "teammate"}
	}
	args := slices.Concat(argv, []string{
		"--agent-id", string(p.spec.ID), "--agent-name", agent.DisplayName(p.spec), "--team-name", o.Team,
		"--agent-color", p.spec.Color, "--agent-type", p.spec.Type, "--parent-session-id", o.Record.Get().ID,
		"--launch", strconv.Itoa(int(p.launch)), "--state-dir", o.StateDir,
	})
	if p.spec.PlanRequired {
		args = append(args, "--plan-mode-required")
	}
	return args, nil
}

// awaitReport waits for the first report of a process.
func (f *Fleet) awaitReport(ctx context.Context, p *proc) error {
	limit := time.NewTimer(f.options.FirstReport)
	defer limit.Stop()
	select {
	case <-p.reportReceived:
		return nil
	case <-p.process.Done():
		return fmt.Errorf("it ended at once: %s", f.options.lastOutput(p.spec.ID))
	case <-limit.C:
		return fmt.Errorf("it did not report for %v", f.options.FirstReport)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.scope.Done():
		return context.Cause(f.scope)
	}
}

// lastOutput returns the last line of output of a process without a pane.
func (o Options) lastOutput(id mailbox.AgentID) string {
	raw, err := os.ReadFile(o.log(id))
	if raw = bytes.TrimSpace(raw); err != nil || len(raw) == 0 {
		return "it wrote nothing"
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
		raw = raw[i+1:]
	}
	return mailbox.FirstLine(string(raw), 300)
}

// undoLaunch cleans up after a failed launch: the process, its pane, its commands and,
// if its agent was never created, its directory.
func (f *Fleet) undoLaunch(ctx context.Context, p *proc) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := f.releaseAndForget(ctx, p)
	if _, born := f.options.Store.Get(p.spec.ID); !born {
		err = errors.Join(err, os.RemoveAll(f.options.dir(p.spec.ID)))
	}
	return err
}

// releaseAndForget is release for a process whose record has the end of all agents in
// it.
func (f *Fleet) releaseAndForget(ctx context.Context, p *proc) error {
	err := f.release(ctx, p)
	f.forgetNested(p.spec.ID)
	return err
}

// forgetNested makes the next call of Nested read the record.
func (f *Fleet) forgetNested(id mailbox.AgentID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lastNested, id)
}

// release kills a process and removes it from the fleet.
func (f *Fleet) release(ctx context.Context, p *proc) error {
	f.mu.Lock()
	p.leaving = true
	process := p.process
	p.endReservationsLocked()
	if f.procs[p.spec.ID] == p {
		delete(f.procs, p.spec.ID)
	}
	f.mu.Unlock()
	if process == nil {
		return nil
	}
	return f.killProcess(ctx, process)
}
