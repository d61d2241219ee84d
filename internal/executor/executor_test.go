package executor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary a process that holds a lock.
func TestMain(m *testing.M) {
	if path := os.Getenv("EXECUTOR_TEST_LOCK"); path != "" {
		os.Exit(hold(path))
	}
	os.Exit(m.Run())
}

func hold(path string) int {
	l, err := Acquire(path)
	if err != nil {
		return 1
	}
	if _, err := os.Stdout.WriteString("held\n"); err != nil {
		return 1
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test closes it
	if l.Release() != nil {
		return 1
	}
	return 0
}

func command(t *testing.T, args ...string) Command {
	dir := t.TempDir()
	return Command{Args: args, Dir: dir, Log: filepath.Join(dir, "log"), Lock: filepath.Join(dir, "lock"), Name: "ben", Color: "green"}
}

func start(t *testing.T, e Executor, c Command) *Process {
	t.Helper()
	p, err := e.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func await(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the process is still there")
	}
}

// conformance holds for every Executor.
var conformance = map[string]func(*testing.T, Executor){
	"KillEndsTheWholeGroup": killEndsTheWholeGroup,
	"AnEndIsSeen": func(t *testing.T, e Executor) {
		p := start(t, e, command(t, "/bin/true"))
		await(t, p.Done())
		if err := p.Kill(t.Context()); err != nil {
			t.Errorf("to kill what has ended: %v", err)
		}
	},
	"ItRunsInItsDirectory": func(t *testing.T, e Executor) {
		c := command(t, "/bin/sh", "-c", "pwd > where")
		await(t, start(t, e, c).Done())
		if where, err := os.ReadFile(filepath.Join(c.Dir, "where")); string(where) != c.Dir+"\n" {
			t.Errorf("it ran in %q, not in %q: %v", where, c.Dir, err)
		}
	},
}

func TestPlainIsAnExecutor(t *testing.T) {
	for name, check := range conformance {
		t.Run(name, func(t *testing.T) { check(t, Plain{}) })
	}
}

func TestTmuxIsAnExecutor(t *testing.T) {
	for name, check := range conformance {
		t.Run(name, func(t *testing.T) { check(t, tmux(t)) })
	}
}

// tmux returns an executor with a tmux server of its own.
func tmux(t *testing.T) *Tmux {
	t.Helper()
	t.Setenv("TMUX", "")
	t.Setenv("TMUX_TMPDIR", t.TempDir())
	x, err := NewTmux("0123456789", []string{"PATH=" + os.Getenv("PATH")}, os.Getenv)
	if errors.Is(err, ErrNoTmux) {
		t.Skip(err)
	}
	return x
}

// TestTmuxServerHasTheGivenEnvironment: neither a pane nor the server, which shows its own to
// whoever reaches the socket, has a variable of this process that was not given to it.
func TestTmuxServerHasTheGivenEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "canary-key")
	x := tmux(t)
	c := command(t, "/bin/sh", "-c", "env > made && mv made env; sleep 1000")
	p := start(t, x, c)
	var pane []byte
	for end := time.Now().Add(20 * time.Second); len(pane) == 0 && time.Now().Before(end); {
		select {
		case <-p.Done():
			t.Fatal("the pane has ended")
		case <-time.After(10 * time.Millisecond):
			pane, _ = os.ReadFile(filepath.Join(c.Dir, "env")) // not yet there
		}
	}
	server, err := x.run(t.Context(), "show-environment", "-g")
	if err != nil {
		t.Fatal(err)
	}
	for what, env := range map[string]string{"pane": string(pane), "server": server} {
		if !strings.Contains(env, "PATH=") {
			t.Errorf("the %s has no PATH: %s", what, env)
		}
		if strings.Contains(env, "canary-key") {
			t.Errorf("the %s has the key", what)
		}
	}
}

func killEndsTheWholeGroup(t *testing.T, e Executor) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The child holds the pipe open too: reading ends when both have ended.
	p := start(t, e, command(t, "/bin/sh", "-c", "exec 3>"+fifo+"; sleep 1000 & echo up >&3; wait"))
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 {
		t.Errorf("a process of the group still writes: %d %v", n, err)
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	if _, err := (Plain{}).Start(t.Context(), command(t, "/nowhere/swarm")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
	await(t, start(t, Plain{}, command(t, "/bin/false")).Done())
}

func TestReusedProcessNumberIsNotKilled(t *testing.T) {
	stranger := start(t, Plain{}, command(t, "/bin/sleep", "1000"))
	p := Adopt(t.Context(), stranger.PID, filepath.Join(t.TempDir(), "lock"))
	await(t, p.Done()) // the lock is free
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(stranger.PID, 0); err != nil {
		t.Errorf("another process was killed: %v", err)
	}
}

func TestAdoptedProcessIsKilled(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EXECUTOR_TEST_LOCK="+lock)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if !Held(lock) {
		t.Error("the lock of a living process is not held")
	}
	if _, err := Acquire(lock); !errors.As(err, new(*HeldError)) {
		t.Errorf("the lock was given twice: %v", err)
	}
	if err := Adopt(t.Context(), cmd.Process.Pid, lock).Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || Held(lock) {
		t.Errorf("ended by %v, held %v", err, Held(lock))
	}
}

// A zombie has ended, although its parent has not waited for it.
func TestZombieHasEnded(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system does not show zombies")
	}
	if !Alive(os.Getpid()) {
		t.Error("this process is not alive")
	}
	cmd := exec.Command("/bin/sh", "-c", "exit")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick, limit := time.NewTicker(pollInterval/10), time.After(30*time.Second)
	defer tick.Stop()
	for Alive(cmd.Process.Pid) {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it is still alive")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTmuxPaneRunsTheCommand(t *testing.T) {
	x := tmux(t)
	c := command(t, "/bin/sh", "-c", `echo "$0" > word; exec sleep 1000`, "a b; $c")
	if err := syscall.Mkfifo(filepath.Join(c.Dir, "word"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := start(t, x, c)
	two := start(t, x, command(t, "/bin/sleep", "1000"))
	panes, err := x.run(t.Context(), "list-panes", "-s", "-t", x.name, "-F", "#{pane_id} #{pane_pid} #{pane_title}")
	if err != nil || strings.Count(panes, "\n") != 2 || !strings.Contains(panes, "ben") {
		t.Errorf("panes %q, %v; attach with %q", panes, err, x.Attach())
	}
	if word, err := os.ReadFile(filepath.Join(c.Dir, "word")); string(word) != "a b; $c\n" {
		t.Errorf("the command got %q, %v", word, err)
	}
	for _, p := range []*Process{one, two} {
		if err := p.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if panes, err := x.run(t.Context(), "list-panes", "-a"); err == nil {
		t.Errorf("panes are left: %q", panes)
	}
	if _, err := os.Stat(x.file); err != nil {
		t.Errorf("tmux has no socket where it is looked for: %v", err)
	}
	for range 2 {
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(x.file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket of tmux is left: %v", err)
	}
}

// TestTmuxDoesNotInterpretNames gives tmux words that it would take for commands and formats.
func TestTmuxDoesNotInterpretNames(t *testing.T) {
	x := tmux(t)
	const word = "a#{pid};"
	c := command(t, "/bin/sh", "-c", `printf '%s\n%s\n' "$PWD" "$0" > word; exec sleep 1000`, word)
	ran := filepath.Join(c.Dir, "ran")
	c.Name, c.Dir = "#(touch "+ran+");", filepath.Join(c.Dir, word)
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(c.Dir, "word"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, x, c)
	if got, err := os.ReadFile(filepath.Join(c.Dir, "word")); string(got) != c.Dir+"\n"+word+"\n" {
		t.Errorf("the command got %q, %v", got, err)
	}
	named, err := x.run(t.Context(), "list-panes", "-s", "-t", x.name, "-F", "#{window_name} #{pane_title}")
	if err != nil || named != c.Name+" "+c.Name+"\n" {
		t.Errorf("the pane is called %q, %v", named, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("tmux ran what stands in a name")
	}
}

// A tmux session that a person uses keeps its socket, and what runs in it.
func TestTmuxSessionInUseKeepsItsSocket(t *testing.T) {
	x := tmux(t)
	p := start(t, x, command(t, "/bin/sleep", "1000"))
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := x.run(t.Context(), "list-panes", "-a"); err != nil {
		t.Error(err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

// A pane opens also while the last other pane closes, and the tmux server with it.
func TestPaneOpensWhileTheLastOneCloses(t *testing.T) {
	x := tmux(t)
	for range 25 {
		p, err := x.Start(t.Context(), command(t, "/bin/true"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
