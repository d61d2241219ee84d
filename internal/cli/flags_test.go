package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesAreSplitOutsideParentheses(t *testing.T) {
	got := SplitRules([]string{"Read, Bash(git log:*, --oneline) Edit", "Bash(a b)", ""})
	want := []string{"Read", "Bash(git log:*, --oneline)", "Edit", "Bash(a b)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
