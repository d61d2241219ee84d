package shellfuzz

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/permission"
)

//go:embed testdata/harmless.txt
var harmlessText string

// harmless is a command that changes nothing that lasts.
type harmless struct{ kind, text string }

var corpus = readCorpus()

func readCorpus() (all []harmless) {
	kind := ""
	for line := range strings.Lines(harmlessText) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			kind = name
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.Contains(line, "<<") || strings.Contains(line, `-c "\n`) {
			line = strings.ReplaceAll(line, `\n`, "\n")
		}
		all = append(all, harmless{kind, line})
	}
	return all
}

// input returns the input of the tool Bash.
func input(text string) json.RawMessage {
	b, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		panic(err)
	}
	return b
}

// leastUnasked is how many in a hundred harmless commands run without a question in mode
// default, where something holds them to reading.
const leastUnasked = 90

func TestHarmlessCommandsRunUnasked(t *testing.T) {
	policy := permission.Policy{Mode: permission.Default, Dirs: []string{"/srv/proj"}, Home: "/home/ann", Contained: true}
	allowed, byKind := 0, map[string][2]int{}
	for _, c := range corpus {
		d := permission.Decide(policy, permission.Request{Tool: "Bash", Cwd: "/srv/proj", Input: input(c.text)})
		n := byKind[c.kind]
		n[1]++
		if d.Behavior == permission.Allow {
			allowed++
			n[0]++
		} else {
			t.Logf("asked about (%s): %s", c.kind, c.text)
		}
		byKind[c.kind] = n
	}
	if len(corpus) < 300 {
		t.Errorf("the corpus has %d commands", len(corpus))
	}
	t.Logf("%d of %d harmless commands run unasked, %.1f %%: %v", allowed, len(corpus), 100*float64(allowed)/float64(len(corpus)), byKind)
	if allowed*100 < leastUnasked*len(corpus) {
		t.Errorf("%d of %d harmless commands run unasked, less than %d %%", allowed, len(corpus), leastUnasked)
	}
}
