package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tmux runs each command in a pane: in the tmux window in which the session runs, or in
// windows of a tmux session of its own.
type Tmux struct {
	path   string // of the tmux program
	pane   string // pane in which the session runs, or ""
	socket string // name of the server, without such a pane
	file   string // path of that socket
	name   string // name of the tmux session, without such a pane
	env    []string

	mu sync.Mutex // one pane opens at a time, since they share the window
}

// ErrNoTmux reports that tmux is not installed.
var ErrNoTmux = errors.New("tmux is not installed")

// NewTmux returns an executor with panes for the session with that id. It reads from getenv
// whether this process itself runs in tmux. env is the environment of tmux, and so of what
// runs in the panes of a server that it starts; nothing in it may be secret, since a server
// shows it to whoever reaches its socket.
func NewTmux(session string, env []string, getenv func(string) string) (*Tmux, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return nil, ErrNoTmux
	}
	t := &Tmux{path: path, env: env}
	for _, name := range ownVariables() {
		if v := getenv(name); v != "" {
			t.env = append(slices.Clip(t.env), name+"="+v)
		}
	}
	if getenv("TMUX") != "" {
		t.pane = getenv("TMUX_PANE")
	}
	if t.pane == "" {
		t.name = "swarm-" + session[:min(len(session), 8)]
		t.socket = t.name
		t.file = filepath.Join(cmp.Or(getenv("TMUX_TMPDIR"), "/tmp"), "tmux-"+strconv.Itoa(os.Getuid()), t.socket)
	}
	return t, nil
}

// ownVariables are what tmux finds its server by.
func ownVariables() []string { return []string{"TMUX", "TMUX_PANE", "TMUX_TMPDIR"} }

// Attach returns the command that shows the panes to a person, or "" if they are visible
// already.
func (t *Tmux) Attach() string {
	if t.pane != "" {
		return ""
	}
	return "tmux -L " + t.socket + " attach"
}

// Close removes the socket that tmux leaves after its last pane. If a person has opened
// panes in the session, Close leaves both.
func (t *Tmux) Close(ctx context.Context) error {
	if t.pane != "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverExitTimeout)
	defer cancel()
	tick := time.NewTicker(serverExitTimeout / 20)
	defer tick.Stop()
	for {
		if _, err := t.run(ctx, "list-sessions"); ctx.Err() != nil {
			return nil // the session is in use
		} else if err != nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	if err := os.Remove(t.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of tmux: %w", err)
	}
	return nil
}

// serverExitTimeout is how long a tmux server may take to end after its last pane.
const serverExitTimeout = time.Second

// Start implements Executor.
func (t *Tmux) Start(ctx context.Context, c Command) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out, err := t.open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open a tmux pane for %s: %w", c.Name, err)
	}
	pane, number, _ := strings.Cut(strings.TrimSpace(out), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("open a tmux pane for %s: tmux printed %q", c.Name, out)
	}
	p := &Process{PID: pid, Pane: pane, done: make(chan struct{})}
	p.closePane = func() { t.closePane(pane) }
	// A pane works without its title and colour.
	_, _ = t.run(ctx, "select-pane", "-t", pane, "-T", literal(c.Name))
	if c.Color != "" {
		_, _ = t.run(ctx, "set-option", "-p", "-t", pane, "pane-border-style", "fg="+c.Color)
	}
	go p.watch(context.WithoutCancel(ctx))
	return p, nil
}

// open opens a pane that runs the command and returns the pane's id and the process number.
func (t *Tmux) open(ctx context.Context, c Command) (string, error) {
	made := append([]string{"-d", "-P", "-F", "#{pane_id} #{pane_pid}"}, t.command(c)...)
	name := literal(c.Name)
	if t.pane != "" {
		out, err := t.runIn(ctx, c.Dir, append([]string{"split-window", "-t", t.pane}, made...)...)
		if err == nil {
			_, _ = t.run(ctx, "select-layout", "-t", t.pane, "tiled")
			return out, nil
		}
		// This window has no room for another pane.
		return t.runIn(ctx, c.Dir, append([]string{"new-window", "-n", name}, made...)...)
	}
	return t.openDetached(ctx, c.Dir, name, made)
}

// literal escapes a name for tmux, which would otherwise expand formats in it and run the
// commands in them.
func literal(name string) string { return strings.ReplaceAll(name, "#", "##") }

// A detached tmux session ends with its last pane, and the server with it, perhaps just
// before a command uses it. Opening is therefore repeated.
const (
	openTries      = 10
	openRetryDelay = 20 * time.Millisecond
)

// openDetached opens a pane in the detached tmux session, which it creates if necessary.
func (t *Tmux) openDetached(ctx context.Context, dir, name string, made []string) (out string, err error) {
	again := time.NewTicker(openRetryDelay)
	defer again.Stop()
	for range openTries {
		window := append([]string{"new-window", "-t", t.name + ":", "-n", name}, made...)
		if out, err = t.runIn(ctx, dir, window...); err == nil {
			return out, nil
		}
		session := append([]string{"new-session", "-s", t.name, "-n", name, "-x", "200", "-y", "50"}, made...)
		if out, err = t.runIn(ctx, dir, session...); err == nil {
			return out, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return "", errors.Join(err, context.Cause(ctx))
		}
	}
	return "", err
}

// command returns what the pane runs. tmux runs several words without a shell.
func (t *Tmux) command(c Command) []string { return append([]string{"--"}, c.Args...) }

func (t *Tmux) run(ctx context.Context, args ...string) (string, error) {
	return t.runIn(ctx, "", args...)
}

// runIn is run in a directory, in which new panes start.
func (t *Tmux) runIn(ctx context.Context, dir string, args ...string) (string, error) {
	var all []string
	if t.socket != "" {
		all = []string{"-L", t.socket}
	}
	for _, arg := range args {
		if body, ends := strings.CutSuffix(arg, ";"); ends { // would end the tmux command
			arg = body + `\;`
		}
		all = append(all, arg)
	}
	cmd := exec.CommandContext(ctx, t.path, all...)
	cmd.Dir, cmd.Env = dir, t.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// closePaneTimeout is how long tmux may take to close a pane.
const closePaneTimeout = 5 * time.Second

// closePane closes a pane that outlives its process, as with remain-on-exit.
func (t *Tmux) closePane(pane string) {
	cmd := exec.Command(t.path, "kill-pane", "-t", pane)
	if t.socket != "" {
		cmd = exec.Command(t.path, "-L", t.socket, "kill-pane", "-t", pane)
	}
	cmd.Env, cmd.WaitDelay = t.env, closePaneTimeout
	_ = cmd.Run() // mostly the pane is closed already
}
