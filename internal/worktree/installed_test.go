package worktree

import (
	"strings"
	"testing"
)

// TestAMissingGitIsNamed, with what to do.
func TestAMissingGitIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Installed(); err == nil || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("the error is %v", err)
	}
}
