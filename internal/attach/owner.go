package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/executor"
)

// How long a session without an owner is tried to be gone on with, and how
// often it is looked whether somebody else was faster.
const (
	takeOverWithin = 30 * time.Second
	takeOverAgain  = 200 * time.Millisecond
)

// TakeOver reaches whoever runs a session whose owner died: a process that it
// starts, or that somebody else has started. The journal decides between them.
func TakeOver(ctx context.Context, info swarm.Info, dial func(swarm.Info) (*swarm.Remote, error), serve func(context.Context, swarm.Info) error) (*swarm.Remote, error) {
	ctx, cancel := context.WithTimeout(ctx, takeOverWithin)
	defer cancel()
	for {
		serveErr := serve(ctx, info)
		r, err := dial(info)
		if err == nil {
			return r, nil
		}
		select {
		case <-time.After(takeOverAgain):
		case <-ctx.Done():
			return nil, fmt.Errorf("session %s could not be taken over: %w", info.ID, errors.Join(serveErr, err))
		}
		if r, err := dial(info); err == nil {
			return r, nil
		}
	}
}

// Serve starts a process that goes on with a session.
func Serve(ctx context.Context, info swarm.Info) error {
	var said strings.Builder
	_, err := Start(ctx, []string{"serve", "--apart", "--resume", info.ID}, nil, &said)
	if text := cli.OneLine(said.String()); err != nil && text != "" {
		return errors.New(strings.TrimPrefix(text, "swarm: "))
	}
	return err
}

// Start starts swarm in a session of its own and returns the id that it
// prints once it answers. It has its own log by then.
func Start(ctx context.Context, args []string, in io.Reader, errOut io.Writer) (id string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program of swarm: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("start a process for the session: %w", err)
	}
	defer r.Close()
	// Not CommandContext: it is to outlive this process.
	cmd := exec.Command(exe, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, w, errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return "", fmt.Errorf("start a process for the session: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { r.Close() })
	defer stop()
	out, err := io.ReadAll(r)
	if id = strings.TrimSpace(string(out)); id != "" {
		go cmd.Wait() // takes its end off the system's list, whenever that is; the process outlives this one
		return id, nil
	}
	if ctx.Err() != nil {
		return "", errors.Join(context.Cause(ctx), cmd.Process.Release())
	}
	return "", errors.Join(err, failed(cmd.Wait()))
}

// failed passes on the exit status of a process that has said why.
func failed(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &cli.ExitError{Code: exit.ExitCode()}
	}
	return err
}

// freeAgain is how often it is looked whether a session is free.
const freeAgain = 20 * time.Millisecond

// reapWithin is how long a process that has let go of its session may stay in the
// system's list, where that does not tell those who have ended from the others:
// whoever started it may never look.
const reapWithin = 2 * time.Second

// WaitUntilGone waits until the process that ran a session has let go of it and ended.
func WaitUntilGone(ctx context.Context, info swarm.Info, pid int) error {
	again, enough := time.NewTicker(freeAgain), time.NewTimer(reapWithin)
	defer again.Stop()
	defer enough.Stop()
	for patient := true; info.Open() || patient && executor.Lives(pid); {
		select {
		case <-again.C:
		case <-enough.C:
			patient = false
		case <-ctx.Done():
			return fmt.Errorf("session %s answers no more, but its process %d has not ended", info.ID, pid)
		}
	}
	return nil
}
