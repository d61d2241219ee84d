package worktree

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// always holds the settings no repository may override: nothing it names is
// run, waiting for a ref takes seconds rather than an error, and no clean-up
// starts behind our back.
var always = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.filesRefLockTimeout=10000",
	"-c", "core.packedRefsTimeout=10000",
	"-c", "core.trustctime=true",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
}

// maxStderr bounds what is kept of a failed command's words.
const maxStderr = 4 << 10

// git runs commands in one directory.
type git struct {
	dir string
	env []string
	// hold are lock files that the command keeps open: if this process is
	// killed, the lock lasts until the command has ended.
	hold []*os.File
}

func (g git) with(env ...string) git {
	g.env = slices.Concat(g.env, env)
	return g
}

func (g git) holding(f ...*os.File) git {
	g.hold = slices.Concat(g.hold, f)
	return g
}

// run returns what the command wrote; said is its stderr.
func (g git) run(ctx context.Context, stdin []byte, args ...string) (out []byte, said string, err error) {
	cmd := exec.CommandContext(ctx, "git", slices.Concat(always, args)...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = g.dir, slices.Concat(environment(), g.env), g.hold
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	// Ctrl-C in the terminal is for the session, not for a half-done git.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	said = stderr.String()
	if err == nil {
		return stdout.Bytes(), said, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return stdout.Bytes(), said, &GitError{Args: args, Dir: g.dir, Stderr: said[:min(len(said), maxStderr)], Err: err}
}

func (g git) out(ctx context.Context, args ...string) ([]byte, error) {
	out, _, err := g.run(ctx, nil, args...)
	return out, err
}

func (g git) feed(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	out, _, err := g.run(ctx, stdin, args...)
	return out, err
}

// line returns the output without the newline at its end.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.out(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// list returns the parts of an output that NULs end.
func (g git) list(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.out(ctx, args...)
	return split(out), err
}

func split(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// environment is what git gets to see of ours: where programs and the person's
// own settings are, and nothing that redirects it.
func environment() []string {
	env := []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_EDITOR=:"}
	for _, name := range []string{
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
