package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// window is a terminal in which swarm runs, and which reports its changes.
type window struct {
	*lab
	changed chan struct{} // holds one token when something was written
}

// openWindow starts a shell command in a terminal of the given size.
func openWindow(l *lab, columns, rows int, command string) *window {
	l.Helper()
	l.needsTmux()
	p := &window{lab: l, changed: make(chan struct{}, 1)}
	out := l.fifo("screen")
	p.tmux("-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "read -r _; "+command+"; echo exit=$?; read -r _")
	l.Cleanup(func() {
		p.tmux("kill-server")
		if err := os.Remove(filepath.Join(l.dir, "tmux")); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.Error(err)
		}
	})
	p.tmux("pipe-pane", "exec cat > "+out)
	p.watch(out)
	p.keys("Enter") // now every byte of the command is reported
	return p
}

// watch reads what is written to the terminal, only to know that it was.
func (p *window) watch(path string) {
	done := make(chan struct{})
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		p.Fatal(err)
	}
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			if _, err := f.Read(buf); errors.Is(err, os.ErrClosed) {
				return
			}
			select {
			case p.changed <- struct{}{}:
			default:
			}
		}
	}()
	p.Cleanup(func() {
		f.Close()
		<-done
	})
}

// tmux runs one command of this test's own server.
func (p *window) tmux(args ...string) string {
	p.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(p.dir, "tmux")}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *window) keys(keys ...string) {
	p.Helper()
	p.tmux(append([]string{"send-keys"}, keys...)...)
}

// writes leaves a text where the cursor is, and types sends it.
func (p *window) writes(text string) {
	p.Helper()
	p.tmux("send-keys", "-l", text)
}

func (p *window) types(text string) {
	p.Helper()
	p.writes(text)
	p.keys("Enter")
}

// screen is what can be seen, without blank lines at the end.
func (p *window) screen() string {
	p.Helper()
	return strings.TrimRight(p.tmux("capture-pane", "-p"), "\n ")
}

// all is the screen with everything that has scrolled away.
func (p *window) all() string {
	p.Helper()
	return p.tmux("capture-pane", "-p", "-S", "-")
}

// until waits for a screen that has every text, and returns it.
func (p *window) until(texts ...string) string {
	p.Helper()
	return p.untilIt("has "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

func (p *window) untilIt(what string, is func(screen string) bool) string {
	p.Helper()
	deadline := time.After(30 * time.Second)
	for {
		screen := p.screen()
		if is(screen) {
			return screen
		}
		select {
		case <-p.changed:
		case <-deadline:
			p.Fatalf("no screen %s; the last is:\n%s", what, screen)
		}
	}
}

// live returns the lines of agents at work.
func live(screen string) []string {
	var lines []string
	for line := range strings.SplitSeq(screen, "\n") {
		if strings.HasPrefix(line, "● ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func liveOf(screen, name string) bool {
	for _, line := range live(screen) {
		if strings.HasPrefix(line, "● "+name) {
			return true
		}
	}
	return false
}
