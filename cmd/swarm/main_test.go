package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the swarm that scripts and tests start.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"swarm": main})
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
