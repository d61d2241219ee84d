package builtin

import (
	"strings"
	"testing"
)

// TestACommandBeyondItsLimitsEnds, with a word about the limit, and with everything that it
// has started.
func TestACommandBeyondItsLimitsEnds(t *testing.T) {
	b, _ := confined(t)
	env := b.env
	env.MaxProcesses = 20
	b = newBash(env)
	defer b.Close()
	got := says(t, b, "open", `i=0; while [ $i -lt 40 ]; do sleep 600 & i=$((i+1)); done; wait`)
	if !strings.Contains(got, "The command was ended: it had ") || !strings.Contains(got, "more than 20") {
		t.Errorf("a command with 40 processes: %s", got)
	}
	if got := says(t, b, "open", `sleep 0.6; echo fine`); strings.TrimSpace(got) != "fine" {
		t.Errorf("a command within its limits: %q", got)
	}
}
