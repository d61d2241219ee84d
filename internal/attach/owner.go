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

// takeOverTimeout is how long TakeOver tries to find an owner, and takeOverInterval the
// time between two attempts.
const (
	takeOverTimeout  = 30 * time.Second
	takeOverInterval = 200 * time.Millisecond
)

// TakeOver connects to the next owner of a session whose owner has ended: a process
// that serve starts, or that another program has started. The lock of the journal
// decides between them.
func TakeOver(ctx context.Context, info swarm.Info, dial func(swarm.Info) (*swarm.Remote, error), serve func(context.Context, swarm.Info) error) (*swarm.Remote, error) {
	ctx, cancel := context.WithTimeout(ctx, takeOverTimeout)
	defer cancel()
	for {
		serveErr := serve(ctx, info)
		r, err := dial(info)
		if err == nil {
			return r, nil
		}
		select {
		case <-time.After(takeOverInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("session %s could not be taken over: %w", info.ID, errors.Join(serveErr, err))
		}
		if r, err := dial(info); err == nil {
			return r, nil
		}
	}
}

// Serve starts a process that runs a session.
func Serve(ctx context.Context, info swarm.Info) error { return serve(ctx, info) }

// ServeAsIs is Serve for a session that goes on in the mode that its user has chosen, also
// if that is not restored.
func ServeAsIs(ctx context.Context, info swarm.Info) error {
	return serve(ctx, info, "--permission-mode", info.Mode)
}

func serve(ctx context.Context, info swarm.Info, flags ...string) error {
	var stderr strings.Builder // is written to as long as the process runs
	_, err := Start(ctx, append([]string{"serve", "--apart", "--resume", info.ID}, flags...), nil, &stderr)
	if err == nil {
		return nil
	}
	if text := cli.OneLine(stderr.String()); text != "" {
		return errors.New(strings.TrimPrefix(text, "swarm: "))
	}
	return err
}

// Start starts swarm in a process session of its own and returns the id that it prints
// once it answers requests. From then on it writes to its own log.
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
	// Not CommandContext: it must outlive this process.
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
		go cmd.Wait() // reaps the process if it ends first; it outlives this one
		return id, nil
	}
	if ctx.Err() != nil {
		return "", errors.Join(context.Cause(ctx), cmd.Process.Release())
	}
	return "", errors.Join(err, exitError(cmd.Wait()))
}

// exitError returns the exit status of a process that has printed its error itself.
func exitError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &cli.ExitError{Code: exit.ExitCode()}
	}
	return err
}

// pollInterval is the time between two checks whether a session is free.
const pollInterval = 20 * time.Millisecond

// reapTimeout limits the wait for a process that has released its session but is still
// in the process table: its parent may never reap it, and on some systems such a
// process cannot be distinguished from a running one.
const reapTimeout = 2 * time.Second

// WaitForExit waits until the process that ran a session has released it and ended.
func WaitForExit(ctx context.Context, info swarm.Info, pid int) error {
	poll, timeout := time.NewTicker(pollInterval), time.NewTimer(reapTimeout)
	defer poll.Stop()
	defer timeout.Stop()
	for waiting := true; info.Open() || waiting && executor.Alive(pid); {
		select {
		case <-poll.C:
		case <-timeout.C:
			waiting = false
		case <-ctx.Done():
			return fmt.Errorf("session %s no longer answers, but its process %d has not ended", info.ID, pid)
		}
	}
	return nil
}
