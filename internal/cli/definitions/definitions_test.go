package definitions

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/cli"
)

// try does one command line in an empty home, and returns what it printed.
func try(t *testing.T, home string, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e strings.Builder
	c := New(&cli.Console{In: strings.NewReader(""), Out: &o, Err: &e, Getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(io.Discard)
	c.SetArgs(append(args, "--dir", home))
	err = c.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestNothingIsReplacedOrRemovedUnasked(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	file := filepath.Join(home, ".claude", "agents", "scout.md")
	made := []string{"new", "--name", "scout", "--description", "Looks around.", "--prompt", "Look."}
	if out, _, err := try(t, home, made...); err != nil || strings.TrimSpace(out) != file {
		t.Fatalf("new printed %q, %v", out, err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := try(t, home, made...); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a second new returned %v", err)
	}
	var exit *cli.ExitError
	if _, _, err := try(t, home, "rm", "scout"); !errors.As(err, &exit) || exit.Code != cli.ExitUsage {
		t.Errorf("rm without a terminal returned %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v\n%s", err, after)
	}
	if _, _, err := try(t, home, "rm", "scout", "--yes"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("rm --yes left the file: %v", err)
	}
}
