package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the swarm that scripts and tests start.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"swarm": main})
}

// suite runs the tests. The processes that they start get the default signals, whatever
// whoever started the tests ignores: nohup ignores SIGHUP, and a shell SIGINT for what it
// runs in the background. A signal that this process takes is not ignored by its children.
type suite struct{ *testing.M }

func (s suite) Run() int {
	taken := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE} {
		if signal.Ignored(sig) {
			signal.Notify(taken, sig)
		}
	}
	return s.M.Run()
}

// execWithStatus is the command of scripts that runs a program and checks its exit status,
// as in: status 3 swarm permissions check Bash.
func execWithStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM [ARGUMENT…]")
	}
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("the exit status is not %s: %v", args[0], err)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": execWithStatus},
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			e.Setenv("HOME", home)
			e.Setenv("TERM", "dumb")
			e.Setenv("IS_SANDBOX", "1") // for tests as root
			e.Setenv("GORACE", os.Getenv("GORACE"))
			return os.MkdirAll(home, 0o700)
		},
	})
}
