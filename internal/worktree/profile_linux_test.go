package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestGitChangesNothingElse: a filter of the user's own runs when a worktree is filled, and
// can write neither beside the repository nor into the main checkout.
func TestGitChangesNothingElse(t *testing.T) {
	if err := sandbox.Probe().Enforces(sandbox.Inspect); err != nil {
		t.Skip(err)
	}
	p := newPlace(t)
	config, outside := filepath.Join(t.TempDir(), "config"), filepath.Join(filepath.Dir(p.dir), "outside")
	p.write(p.dir, ".gitattributes", "*.txt filter=mine\n")
	p.git(p.dir, "add", ".")
	p.git(p.dir, "commit", "-q", "-m", "attributes")
	smudge := `(echo > ` + outside + `; echo > ` + p.dir + `/made) 2>/dev/null; sed s/^/smudged:/`
	p.git(p.dir, "config", "--file", config, "filter.mine.smudge", smudge)
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	tree := p.lease("ann", 1)
	text, err := os.ReadFile(filepath.Join(tree.Path, "sub", "b.txt"))
	if err != nil || string(text) != "smudged:bee\n" {
		t.Errorf("the filter did not run: b.txt is %q, %v", text, err)
	}
	for _, path := range []string{outside, filepath.Join(p.dir, "made")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}
