package worktree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// fixedSettings are settings that no repository may override: git runs no program that
// the repository names, waits some seconds for a lock on a ref, and starts no
// maintenance of its own.
var fixedSettings = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "safe.bareRepository=explicit",
	"-c", "diff.external=",
	"-c", "commit.gpgSign=false",
	"-c", "log.showSignature=false",
	"-c", "core.filesRefLockTimeout=10000",
	"-c", "core.packedRefsTimeout=10000",
	"-c", "core.trustctime=true",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
}

// maxStderr bounds what a GitError holds of the command's output.
const maxStderr = 4 << 10

// Installed returns an error if there is no git to run.
func Installed() error {
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("git is not installed, or not in a directory of PATH: install it first")
	}
	return nil
}

// git runs commands in one directory.
type git struct {
	dir string
	env []string
	// hold are lock files that the command keeps open: if this process is
	// killed, the lock lasts until the command has ended.
	hold []*os.File
	// filters switches off those of the repository; nil for commands that read and write
	// no files of a checkout.
	filters *filters
}

func (g git) with(env ...string) git {
	g.env = slices.Concat(g.env, env)
	return g
}

func (g git) holding(f ...*os.File) git {
	g.hold = slices.Concat(g.hold, f)
	return g
}

// unfiltered is for commands that read or write files of a checkout: git worktree remove
// compares them.
func (g git) unfiltered() git {
	g.filters = &filters{}
	return g
}

// run returns the output of the command, and what it wrote to stderr.
func (g git) run(ctx context.Context, stdin []byte, args ...string) (stdout []byte, stderr string, err error) {
	if g.filters != nil {
		off, err := g.filters.off(ctx, g)
		if err != nil {
			return nil, "", err
		}
		g = g.with(off...)
	}
	cmd := exec.CommandContext(ctx, "git", slices.Concat(fixedSettings, args)...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = g.dir, slices.Concat(environment(), g.env), g.hold
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	// Ctrl-C in the terminal is for the session, not for a half-done git.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err = sandbox.Run(cmd, g.profile(args))
	stderr = errs.String()
	if err == nil {
		return out.Bytes(), stderr, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return out.Bytes(), stderr, &GitError{Args: args, Dir: g.dir, Stderr: stderr[:min(len(stderr), maxStderr)], Err: err}
}

// profile lets git change the metadata, the checkout and the index that its variables name,
// and the directory around a worktree that it makes or removes. It has the network only for
// filters of the user's own.
func (g git) profile(args []string) sandbox.Profile {
	var changes []string
	for _, v := range g.env {
		switch name, path, _ := strings.Cut(v, "="); name {
		case "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE":
			changes = append(changes, path)
		case "GIT_INDEX_FILE":
			changes = append(changes, filepath.Dir(path))
		}
	}
	if i := slices.Index(args, "--"); i > 0 && args[0] == "worktree" {
		changes = append(changes, filepath.Dir(args[i+1]))
	}
	p := sandbox.Place{Home: os.Getenv("HOME")}.Changing(changes...)
	p.Network = p.Network || g.filters != nil && g.filters.users
	return p
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

// environment returns the variables that git inherits: those that name programs and the
// user's own settings, and none that redirects git.
func environment() []string {
	env := []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "GIT_EDITOR=:"}
	env = append(env, "GIT_NO_LAZY_FETCH=1") // the repository says from where, and by which program
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
