package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
)

// What is consented to is shown whole, however long it is, and once.
func TestConsentIsShownInFull(t *testing.T) {
	long := "echo " + strings.Repeat("harmless ", 30) + "; rm -rf /the/end"
	for name, c := range map[string]struct {
		q    swarm.Question
		want []string // in this order
		n    int      // lines
	}{
		"short":     {ask("Bash", "Bash make", "command", "make"), []string{"Bash make"}, 2},
		"long":      {ask("Bash", "Bash "+long[:199]+"…", "command", long), []string{"Bash echo", "…", "harmless", "rm -rf /the/end"}, 7},
		"two lines": {ask("Bash", "Bash cd x rm y", "command", "cd x\nrm y"), []string{"Bash cd x rm y", "\n          cd x\n          rm y\n"}, 4},
		"plan":      {ask("ExitPlanMode", "the plan: # One two", "plan", "# One\n\ntwo\x1b[2J\n"), []string{"the plan: # One two", "\n          # One\n\n          two\n"}, 5},
		"new file":  {ask("Write", "Write /r/a.go", "content", "package a\n\nfunc A() {}\n"), []string{"Write /r/a.go", "\n          + package a\n          +\n          + func A() {}\n"}, 5},
		"edit":      {ask("Edit", "Edit /r/a.go", "old_string", "one\ntwo"), []string{"Edit /r/a.go", "\n          - one\n          - two\n"}, 4},
	} {
		var b strings.Builder
		WriteQuestion(&b, cli.Screen{Out: &b}, c.q, "", c.q.Asked)
		got := b.String()
		rest := got
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: no %q in:\n%s", name, want, got)
			}
			rest = after
		}
		if n := strings.Count(got, "\n"); n != c.n {
			t.Errorf("%s: %d lines, want %d:\n%s", name, n, c.n, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if utf8.RuneCountInString(line) > cli.PlainWidth {
				t.Errorf("%s: %d columns: %s", name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

func ask(tool, summary, key, text string) swarm.Question {
	raw, err := json.Marshal(map[string]string{key: text})
	if err != nil {
		panic(err)
	}
	return swarm.Question{
		ID: "k3vq7x2m", Agent: event.Agent{ID: "scout-1", Name: "scout"}, Kind: event.AsksPermission, Tool: tool,
		Summary: summary, Input: raw, Asked: time.Now(),
	}
}
