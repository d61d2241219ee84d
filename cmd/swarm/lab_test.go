package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lab is a directory with a home of its own, where swarm is run as a process.
type lab struct {
	*testing.T
	dir string
	env []string
}

func newLab(t *testing.T, files map[string]string) *lab {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, ".home")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	// The question about the mode bypassPermissions was answered.
	if err := errors.Join(os.MkdirAll(home+"/.swarm", 0o700), os.WriteFile(home+"/.swarm/bypass-accepted", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return &lab{T: t, dir: dir, env: append(plainEnviron(), "IS_SANDBOX=1", "HOME="+home, "SWARM_HOME="+home+"/.swarm", "TERM=xterm", "NO_COLOR=")}
}

// plainEnviron is the environment without what would change how swarm works or looks.
func plainEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"TMUX", "TMUX_PANE", "VISUAL", "EDITOR", "ACCESSIBLE", "COLUMNS", "LINES"}, name) ||
			slices.ContainsFunc([]string{"SWARM_", "ANTHROPIC_", "OPENAI_", "CLAUDE_"}, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}

// needs skips the test where a program is not installed. It comes before anything is
// started.
func (l *lab) needs(program, purpose string) {
	l.Helper()
	if _, err := exec.LookPath(program); err != nil {
		l.Skipf("%s is not installed: it is needed %s", program, purpose)
	}
}

// needsTmux skips the test where there is no tmux.
func (l *lab) needsTmux() {
	l.Helper()
	l.needs("tmux", "as a terminal that a test can read and type into")
}

// fifo makes a named pipe, on which processes wait for each other.
func (l *lab) fifo(name string) string {
	l.Helper()
	path := filepath.Join(l.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		l.Fatal(err)
	}
	return path
}

// await returns when somebody has written into a named pipe.
func (l *lab) await(path string) string {
	l.Helper()
	got := make(chan string, 1)
	go func() {
		raw, err := os.ReadFile(path)
		if err != nil {
			raw = []byte(err.Error())
		}
		got <- string(raw)
	}()
	select {
	case text := <-got:
		return strings.TrimSpace(text)
	case <-time.After(30 * time.Second):
		l.Fatalf("nobody has written into %s", path)
		return ""
	}
}

func (l *lab) command(args ...string) *exec.Cmd {
	cmd := exec.Command("swarm", args...)
	cmd.Dir, cmd.Env = l.dir, l.env
	return cmd
}

// ended is what a process has left.
type ended struct {
	out, err string
	code     int
}

// run runs swarm to its end.
func (l *lab) run(args ...string) ended {
	l.Helper()
	return l.start(args...).wait()
}

// process is a swarm that runs.
type process struct {
	l        *lab
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func (l *lab) start(args ...string) *process {
	l.Helper()
	p := &process{l: l, cmd: l.command(args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			if err := p.cmd.Process.Kill(); err == nil {
				p.wait()
			}
		}
	})
	return p
}

func (p *process) signal(s os.Signal) {
	p.l.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.l.Fatal(err)
	}
}

func (p *process) wait() ended {
	p.l.Helper()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.l.Fatal(err)
	}
	return ended{p.out.String(), p.err.String(), p.cmd.ProcessState.ExitCode()}
}

// marked returns the processes that carry text in their environment.
func marked(t *testing.T, text string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, p)
		}
	}
	return found
}

// lines reads a file line by line.
func (l *lab) lines(path string) []string {
	l.Helper()
	f, err := os.Open(path)
	if err != nil {
		l.Fatal(err)
	}
	defer f.Close()
	var all []string
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			l.Fatal(err)
		}
	}
}

// transcript returns the file in which an agent's life is written for people.
func (l *lab) transcript(session, agent string) string {
	l.Helper()
	paths, err := filepath.Glob(filepath.Join(l.dir, ".home/.swarm/projects/*", session, "transcripts", agent+".jsonl"))
	if err != nil || len(paths) != 1 {
		l.Fatalf("the transcript of %s in %s: %v, %v", agent, session, paths, err)
	}
	return paths[0]
}
