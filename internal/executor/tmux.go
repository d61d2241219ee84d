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
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tmux runs each command in a pane of its own: beside the pane that the session
// runs in, or in windows of a tmux session of its own.
type Tmux struct {
	path   string // of tmux
	inside string // the pane that the session runs in; "" is none
	socket string // name of the server outside of tmux
	file   string // of that socket
	name   string // of the tmux session outside of tmux

	mu sync.Mutex // one pane at a time: they share the room
}

// ErrNoTmux says that there is no tmux on this machine.
var ErrNoTmux = errors.New("tmux is not installed")

// NewTmux returns an executor with panes for the session of an id. getenv tells
// whether this process runs in tmux itself.
func NewTmux(session string, getenv func(string) string) (*Tmux, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return nil, ErrNoTmux
	}
	t := &Tmux{path: path}
	if getenv("TMUX") != "" {
		t.inside = getenv("TMUX_PANE")
	}
	if t.inside == "" {
		t.name = "swarm-" + session[:min(len(session), 8)]
		t.socket = t.name
		t.file = filepath.Join(cmp.Or(getenv("TMUX_TMPDIR"), "/tmp"), "tmux-"+strconv.Itoa(os.Getuid()), t.socket)
	}
	return t, nil
}

// Attach is the command with which a person sees the panes, or "" if they are
// seen already.
func (t *Tmux) Attach() string {
	if t.inside != "" {
		return ""
	}
	return "tmux -L " + t.socket + " attach"
}

// Close removes the socket that tmux leaves behind when its last pane is gone. Where
// somebody has panes of his own in the session, both stay.
func (t *Tmux) Close(ctx context.Context) error {
	if t.inside != "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	tick := time.NewTicker(leaveWithin / 20)
	defer tick.Stop()
	for {
		if _, err := t.run(ctx, "list-sessions"); ctx.Err() != nil {
			return nil // it is used
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
		return fmt.Errorf("remove the socket that tmux has left: %w", err)
	}
	return nil
}

// leaveWithin is how long a tmux server may take to end after its last pane.
const leaveWithin = time.Second

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
		return nil, fmt.Errorf("open a tmux pane for %s: tmux answered %q", c.Name, out)
	}
	p := &Process{PID: pid, Pane: pane, gone: make(chan struct{})}
	p.unseat = func() { t.unseat(pane) }
	// A pane without its title and colour is as good as one with them.
	_, _ = t.run(ctx, "select-pane", "-t", pane, "-T", literal(c.Name))
	if c.Color != "" {
		_, _ = t.run(ctx, "set-option", "-p", "-t", pane, "pane-border-style", "fg="+c.Color)
	}
	go p.watch(context.WithoutCancel(ctx))
	return p, nil
}

// open makes a pane that runs the command and returns its id and process.
func (t *Tmux) open(ctx context.Context, c Command) (string, error) {
	made := append([]string{"-d", "-P", "-F", "#{pane_id} #{pane_pid}"}, t.command(c)...)
	name := literal(c.Name)
	if t.inside != "" {
		out, err := t.runIn(ctx, c.Dir, append([]string{"split-window", "-t", t.inside}, made...)...)
		if err == nil {
			_, _ = t.run(ctx, "select-layout", "-t", t.inside, "tiled")
			return out, nil
		}
		// There is no room for another pane in this window.
		return t.runIn(ctx, c.Dir, append([]string{"new-window", "-n", name}, made...)...)
	}
	return t.openApart(ctx, c.Dir, name, made)
}

// literal is a name as tmux shows it: written as it is, tmux would put in what its
// formats stand for, and run the commands in them.
func literal(name string) string { return strings.ReplaceAll(name, "#", "##") }

// The tmux session of panes that are apart ends with its last pane, and its server
// with it: what was there may be gone when it is used.
const (
	openTries = 10
	openAgain = 20 * time.Millisecond
)

// openApart makes a pane in a tmux session of its own, and that session if it is
// not there.
func (t *Tmux) openApart(ctx context.Context, dir, name string, made []string) (out string, err error) {
	again := time.NewTicker(openAgain)
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

// command is what the pane runs. More than one word is run as it is, without a
// shell.
func (t *Tmux) command(c Command) []string { return append([]string{"--"}, c.Args...) }

func (t *Tmux) run(ctx context.Context, args ...string) (string, error) {
	return t.runIn(ctx, "", args...)
}

// runIn is run in a directory, which is where a pane that it makes begins.
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
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// unseatWithin is how long tmux may take to close a pane.
const unseatWithin = 5 * time.Second

// unseat closes a pane that outlived its process, as it does for people who have
// set remain-on-exit.
func (t *Tmux) unseat(pane string) {
	cmd := exec.Command(t.path, "kill-pane", "-t", pane)
	if t.socket != "" {
		cmd = exec.Command(t.path, "-L", t.socket, "kill-pane", "-t", pane)
	}
	cmd.WaitDelay = unseatWithin
	_ = cmd.Run() // it is gone in most cases
}
