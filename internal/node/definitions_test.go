package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A few agents that cannot start have a line each, and many have one together.
func TestManyAgentsThatCannotStartAreOneNote(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]struct{ problems, notes int }{3: {3, 0}, 4: {0, 1}} {
		dir := t.TempDir()
		agents := filepath.Join(dir, ".claude", "agents")
		if err := os.MkdirAll(agents, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			text := fmt.Sprintf("---\nname: a%d\ndescription: d\ntools: WebSearch\n---\n", i)
			if err := os.WriteFile(filepath.Join(agents, fmt.Sprintf("a%d.md", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := Config{Dir: dir, Home: t.TempDir(), StateDir: t.TempDir(), Getenv: func(string) string { return "" }}
		rules, err := NewRules(RulesOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := LoadDefinitions(DefinitionsOptions{Sources: c.Sources(), Rules: rules, NoInstructions: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Problems(); len(got) != want.problems {
			t.Errorf("%d agents: problems %v, want %d", n, got, want.problems)
		}
		if got := d.manyUnusable(); len(got) != want.notes || n == 4 && !strings.HasPrefix(got[0], "4 agents cannot start, as none of their tools exists here (a0, a1, a2, …)") {
			t.Errorf("%d agents: notes %q, want %d", n, got, want.notes)
		}
		d.Stop()
	}
}
