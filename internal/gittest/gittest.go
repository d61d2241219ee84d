// Package gittest runs git in tests, without the settings of whoever runs them.
//
//	gittest.Need(t) // skips the test where there is no git
//	gittest.Run(t, dir, nil, "init", "-q")
//	out := gittest.Run(t, dir, paths, "check-ignore", "--stdin")
package gittest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// Need skips the test if git is not installed.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
}

// Run runs git in a directory with some input and returns what it prints. A failure
// with a message ends the test; one without is an answer, as that of check-ignore.
func Run(t testing.TB, dir string, input []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() > 0 {
		t.Fatalf("git %v: %v\n%s", args, err, &stderr)
	}
	return out
}
