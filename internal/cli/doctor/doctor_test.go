package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/cli"
)

// check runs the command with an environment, in an empty home.
func check(t *testing.T, env map[string]string) (out string, err error) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	var b strings.Builder
	c := New(&cli.Console{Out: &b, Err: &b, Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs([]string{"--dir", home})
	err = c.ExecuteContext(t.Context())
	return b.String(), err
}

func TestCredentialsAreNamedAndNeverPrinted(t *testing.T) {
	out, _ := check(t, map[string]string{"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_BASE_URL": "https://me:password@example.org/v1"})
	if !strings.Contains(out, "Claude by ANTHROPIC_API_KEY at example.org") {
		t.Errorf("the credentials are not named:\n%s", out)
	}
	if strings.Contains(out, "secret") || strings.Contains(out, "password") {
		t.Errorf("a secret is printed:\n%s", out)
	}
}

func TestEveryCheckIsMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := check(t, map[string]string{"SWARM_HOME": file}) // a file cannot hold sessions
	if err == nil || !strings.Contains(err.Error(), "failed") {
		t.Errorf("the error is %v", err)
	}
	for _, about := range []string{"bash", "git", "rg", "state", "model", "agents", "sessions", "sockets"} {
		if !strings.Contains(out, " "+about+" ") {
			t.Errorf("%s was not checked:\n%s", about, out)
		}
	}
}
