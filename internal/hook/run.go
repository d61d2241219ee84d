package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// MaxOutput is how much is kept of what a hook prints, in bytes.
	MaxOutput = 1 << 20
	// farewell is what a hook gets between SIGTERM and SIGKILL, and how long its
	// output is waited for when it has left processes behind.
	farewell = 2 * time.Second
)

// Call is one occurrence of an event.
type Call struct {
	Event string
	// Subject is what matchers are compared with; "" for events without one:
	// then every hook of the event runs.
	Subject string
	// Input is written to the hook as JSON, with hook_event_name added.
	Input map[string]any
	// Dir is the working directory, Env the whole environment.
	Dir string
	Env []string
}

// Has reports whether some hook would run on a call.
func (s *Set) Has(event, subject string) bool { return len(s.matching(event, subject)) > 0 }

func (s *Set) matching(event, subject string) []handler {
	if s == nil {
		return nil
	}
	var out []handler
	for _, h := range s.handlers[event] {
		if (subject == "" || h.matches(subject)) && h.If == "" {
			out = append(out, h)
		}
	}
	return out
}

// Run runs the hooks of a call side by side and returns their outcomes in the
// order of the settings files. When ctx ends they are ended too, and the
// outcomes wrap its cause.
func (s *Set) Run(ctx context.Context, c Call) []Outcome {
	hooks := s.matching(c.Event, c.Subject)
	input := map[string]any{"hook_event_name": c.Event}
	maps.Copy(input, c.Input)
	text, err := json.Marshal(input)
	text = append(text, '\n') // for hooks that read lines
	out := make([]Outcome, len(hooks))
	var all sync.WaitGroup
	for i, h := range hooks {
		out[i] = Outcome{Source: h.source, Command: h.Command, Code: -1, Err: errors.Join(err, h.broken), failureBlocks: h.OnFailure == "block"}
		if out[i].Err == nil {
			all.Go(func() { h.run(ctx, c, text, &out[i]) })
		}
	}
	all.Wait()
	return out
}

func (h *handler) run(ctx context.Context, c Call, input []byte, out *Outcome) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout(), &TimeoutError{h.timeout()})
	defer cancel()
	cmd := h.cmd(ctx)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	var stdout, stderr head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	// A session of its own: no terminal, and a group that can be ended as one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return signal(cmd, syscall.SIGTERM) }
	cmd.WaitDelay = farewell
	err := cmd.Run()
	if cmd.Process != nil {
		err = errors.Join(err, signal(cmd, syscall.SIGKILL))
	}
	out.Stdout, out.Stderr = string(stdout.kept), string(stderr.kept)
	var exit *exec.ExitError
	switch {
	case context.Cause(ctx) != nil:
		out.Err = context.Cause(ctx)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		out.Code = 0
	case errors.As(err, &exit) && exit.Exited():
		out.Code = exit.ExitCode()
	default:
		out.Err = err
	}
	if out.Err == nil {
		out.Output = parseOutput(out.Stdout)
	}
}

// cmd is the shell, or with args the program itself.
func (h *handler) cmd(ctx context.Context) *exec.Cmd {
	switch {
	case h.Args != nil:
		return exec.CommandContext(ctx, h.Command, h.Args...)
	case h.Shell == "powershell":
		return exec.CommandContext(ctx, "pwsh", "-NoProfile", "-NonInteractive", "-Command", h.Command)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		return exec.CommandContext(ctx, "sh", "-c", h.Command)
	}
	return exec.CommandContext(ctx, "bash", "-c", h.Command)
}

// signal sends a signal to all that is left of the command's group.
func signal(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil // nobody is left; Darwin says EPERM if only zombies are
	}
	return fmt.Errorf("end what the hook has started: %w", err)
}

// head keeps the first MaxOutput bytes and drops the rest.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), MaxOutput-len(h.kept))]...)
	return len(p), nil
}
