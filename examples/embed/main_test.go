package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm"
)

const twoFiles = `
rules:
  - when: {step: 0}
    say: {calls: [{tool: Glob, input: {pattern: '*.txt'}}]}
  - say: {text: 'there are {{count (lastResult "Glob")}} files, asked: {{.Prompt}}'}
`

func TestEmbedPrintsEventsAndThenTheAnswer(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "a.txt"):       "a\n",
		filepath.Join(dir, "b.txt"):       "b\n",
		filepath.Join(state, "rules.yml"): twoFiles,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	o := swarm.Options{
		Dir: dir, StateDir: state, Home: t.TempDir(), Model: "script:" + filepath.Join(state, "rules.yml"),
		Getenv: func(string) string { return "" },
	}
	if err := ask(t.Context(), &out, o, "how many?"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; last != "there are 2 files, asked: how many?" {
		t.Errorf("the last line is %q", last)
	}
	for _, want := range []string{"team-lead requested", "team-lead call_finished", "team-lead turn_ended"} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("the events lack %q:\n%s", want, out.String())
		}
	}
}

func TestEmbedTellsThatThereIsNoModel(t *testing.T) {
	var out bytes.Buffer
	o := swarm.Options{
		Dir: t.TempDir(), StateDir: t.TempDir(), Home: t.TempDir(), Getenv: func(string) string { return "" },
	}
	err := ask(t.Context(), &out, o, "hello")
	if err == nil || !strings.Contains(err.Error(), "there is no model") {
		t.Errorf("got %v, want an error that says how to give a model", err)
	}
}
