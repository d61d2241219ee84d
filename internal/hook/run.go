package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/actorswarm/swarm/internal/sandbox"
)

const (
	// MaxOutput is how many bytes of each output of a hook are kept.
	MaxOutput = 1 << 20
	// farewell is what a hook gets between SIGTERM and SIGKILL, and how long its
	// output is waited for when it has left processes behind.
	termGrace = 2 * time.Second
)

// Call is one occurrence of an event.
type Call struct {
	Event string
	// Subject is compared with matchers; if it is "", as for some events, every hook of
	// the event runs.
	Subject string
	// Input is the hook's standard input as JSON, with hook_event_name added.
	Input map[string]any
	// Dir is the working directory, Env the whole environment, and Place is what commands
	// do not see.
	Dir   string
	Env   []string
	Place sandbox.Place
	// Covers reports whether a permission rule, the "if" of a handler, covers the tool
	// call of the event. If it is nil, handlers with one do not run.
	Covers func(rule string) bool
	// Getenv reads variables for the headers of HTTP requests; nil reads none.
	Getenv func(string) string
	// Judge answers handlers of type prompt and agent, Servers those of type mcp_tool. If
	// they are nil, such handlers fail.
	Judge   Judge
	Servers Servers
	// Background runs an asynchronous handler and Late gets its outcome. Without both,
	// such handlers are errors.
	Background func(run func(context.Context))
	Late       func(Outcome)
}

// Has reports whether some hook would run on a call.
func (s *Set) Has(event, subject string) bool {
	return len(s.matching(Call{Event: event, Subject: subject})) > 0
}

// Listens reports whether there is a handler of an event, whatever its matcher.
func (s *Set) Listens(event string) bool { return s != nil && len(s.handlers[event]) > 0 }

// matching returns the handlers that run at a call; equal ones once.
func (s *Set) matching(c Call) []handler {
	if s == nil {
		return nil
	}
	var out []handler
	for _, h := range s.handlers[c.Event] {
		switch {
		case c.Subject != "" && !h.matches(c.Subject), h.Once && h.spent.Load():
		case h.If != "" && (c.Covers == nil || !c.Covers(h.If)):
		case h.err == nil && !h.isAsync() && slices.ContainsFunc(out, h.same):
		default:
			out = append(out, h)
		}
	}
	return out
}

// Run runs the hooks of a call side by side and returns their outcomes in the
// order of the settings files. When ctx ends they are ended too, and the
// outcomes wrap its cause. Asynchronous hooks are only started.
func (s *Set) Run(ctx context.Context, c Call) []Outcome {
	hooks := s.matching(c)
	input := map[string]any{"hook_event_name": c.Event}
	maps.Copy(input, c.Input)
	text, err := json.Marshal(input)
	text = append(text, '\n') // for hooks that read lines
	if c.Event == "SessionEnd" {
		var cancel context.CancelFunc
		ctx, cancel = withEndTimeout(ctx, hooks)
		defer cancel()
	}
	out := make([]*Outcome, 0, len(hooks))
	var all sync.WaitGroup
	for _, h := range hooks {
		o := h.outcome(c.Event, err)
		switch {
		case o.Err == nil && h.isAsync() && c.Background != nil && c.Late != nil:
			c.Background(func(ctx context.Context) {
				h.run(ctx, s.limits, c, text, o)
				c.Late(*o)
			})
			continue
		case o.Err == nil && h.isAsync():
			o.Err = errors.New("asynchronous hooks are not supported at this event")
		case o.Err == nil:
			all.Go(func() { h.run(ctx, s.limits, c, text, o) })
		}
		out = append(out, o)
	}
	all.Wait()
	return collect(out)
}

func collect(all []*Outcome) []Outcome {
	out := make([]Outcome, len(all))
	for i, o := range all {
		out[i] = *o
	}
	return out
}

// outcome returns the outcome of a handler that has not run, err if it cannot.
func (h handler) outcome(event string, err error) *Outcome {
	return &Outcome{
		Source: h.source, Command: h.name(), Code: -1, Err: errors.Join(err, h.err), Broken: h.err != nil,
		Rewake: h.AsyncRewake, failureBlocks: h.failureBlocks(event),
	}
}

// withEndTimeout limits the time of all hooks together at the end of a session.
func withEndTimeout(ctx context.Context, hooks []handler) (context.Context, context.CancelFunc) {
	limit := endTimeout
	for _, h := range hooks {
		limit = max(limit, min(seconds(h.Timeout), maxEndTimeout))
	}
	return context.WithTimeoutCause(ctx, limit, &TimeoutError{limit})
}

func (h handler) run(ctx context.Context, l limits, c Call, input []byte, out *Outcome) {
	if !h.Async || h.AsyncRewake { // what nobody waits for may take as long as it likes
		limit := h.timeout(c.Event)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &TimeoutError{limit})
		defer cancel()
	}
	switch h.Type {
	case typeHTTP:
		h.post(ctx, l, c, input, out)
	case typeTool:
		h.callTool(ctx, c, input, out)
	case typePrompt, typeAgent:
		h.ask(ctx, c, input, out)
	default:
		h.execWithEnviron(ctx, c, input, out)
	}
	if out.Err == nil && out.Output == nil && h.Type != typePrompt && h.Type != typeAgent {
		out.Output, out.Problem, out.malformed = parseOutput(c.Event, out.Stdout)
	}
	if _, blocked := out.Blocked(); !blocked && out.Failure() == nil {
		h.spent.Store(true)
	}
}

// execWithEnviron is exec with a file for variables, at events that have one.
func (h handler) execWithEnviron(ctx context.Context, c Call, input []byte, out *Outcome) {
	if event, _ := FindEvent(c.Event); !event.Environ {
		h.exec(ctx, c, input, out)
		return
	}
	f, err := os.CreateTemp("", "swarm-env-*")
	if err != nil {
		out.Err = fmt.Errorf("make the file of CLAUDE_ENV_FILE: %w", err)
		return
	}
	c.Env = append(slices.Clip(c.Env), "CLAUDE_ENV_FILE="+f.Name())
	h.exec(ctx, c, input, out)
	text, readErr := io.ReadAll(io.LimitReader(f, MaxOutput))
	out.Environ = string(text)
	if err := errors.Join(readErr, f.Close(), os.Remove(f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		out.Err = errors.Join(out.Err, fmt.Errorf("read the file of CLAUDE_ENV_FILE: %w", err))
	}
}

// exec runs a command to its end.
func (h handler) exec(ctx context.Context, c Call, input []byte, out *Outcome) {
	cmd := h.cmd(ctx)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	var stdout, stderr head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	// A session of its own has no terminal, and a process group that can be ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return signal(cmd, syscall.SIGTERM) }
	cmd.WaitDelay = termGrace
	err := sandbox.Run(cmd, c.Place.Profile(sandbox.Open))
	if cmd.Process != nil {
		err = errors.Join(err, signal(cmd, syscall.SIGKILL))
	}
	out.Stdout, out.Stderr = string(stdout.data), string(stderr.data)
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
}

// cmd is the shell, or with args the program itself.
func (h handler) cmd(ctx context.Context) *exec.Cmd {
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

// signal sends a signal to the command's process group.
func signal(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil // the group is empty; Darwin returns EPERM if it has zombies only
	}
	return fmt.Errorf("end what the hook has started: %w", err)
}

// head keeps the first MaxOutput bytes and drops the rest.
type head struct{ data []byte }

func (h *head) Write(p []byte) (int, error) {
	h.data = append(h.data, p[:min(len(p), MaxOutput-len(h.data))]...)
	return len(p), nil
}
