package archtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestAnotherModuleEmbedsASession builds and runs a program of another module, which
// can name no package of internal/.
func TestAnotherModuleEmbedsASession(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", "script.yaml")
	cmd.Dir = "../../examples/embedder"
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (if its go.mod is stale: cd examples/embedder && go mod tidy)\n%s", err, out)
	}
	for _, want := range []string{
		"agent team-lead, lead\n", "agent counter, teammate\n", "mail to counter is read\n", "task count is pending\n",
		"first prompt: Let a teammate count, and put the count on the list.\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
