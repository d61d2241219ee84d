package main

import (
	"os"
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

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			e.Setenv("HOME", home)
			e.Setenv("TERM", "dumb")
			return os.MkdirAll(home, 0o700)
		},
	})
}
