package swarm

import (
	"os"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/team/teamfile"
)

// The file that docs/teams.md shows is one.
func TestTheTeamFileOfTheDocsIsValid(t *testing.T) {
	for _, path := range []string{"docs/teams.md", "README.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
			src, _, _ := strings.Cut(block, "```")
			if !strings.Contains(src, "members:") {
				continue
			}
			found++
			if _, err := teamfile.Parse(path, []byte(src), nil); err != nil {
				t.Error(err)
			}
		}
		if found == 0 {
			t.Errorf("%s shows no team file: no block in ```yaml has members", path)
		}
	}
}

// docs/permissions.md says what each permission mode does.
func TestTheDocsNameEachMode(t *testing.T) {
	text, err := os.ReadFile("docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range defs.PermissionModes() {
		if !strings.Contains(string(text), "`"+mode+"`") {
			t.Errorf("docs/permissions.md does not name the mode %s", mode)
		}
	}
}
