package hookenv

import (
	"slices"
	"strings"
	"testing"
)

func getenv(name string) string { return "<" + name + ">" }

func TestVariablesAreRecorded(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		event, text string
		fresh       bool
		want        []string
	}{
		{"SessionStart", "export A=1 B='x y'\nC=$A$PATH\n", true, []string{"A=1", "B=x y", "C=1<PATH>"}},
		{"FileChanged", "declare -x D=\"2\"\n", false, []string{"A=1", "B=x y", "C=1<PATH>", "D=2"}},
		{"FileChanged", "export E=3\n", false, []string{"A=1", "B=x y", "C=1<PATH>", "D=2", "E=3"}},
		{"SessionStart", "P=a${PATH:+:$PATH}", true, []string{"P=a:<PATH>", "D=2", "E=3"}},
		{"SessionStart", "", true, []string{"D=2", "E=3"}},
		{"FileChanged", " ", true, nil},
	} {
		if err := Open(dir, getenv).Add(c.event, []string{c.text}, c.fresh); err != nil {
			t.Fatal(err)
		}
		if got := Open(dir, getenv).List(); !slices.Equal(got, c.want) {
			t.Errorf("after %q of %s: %q", c.text, c.event, got)
		}
	}
}

func TestNothingIsRun(t *testing.T) {
	v := Open(t.TempDir(), getenv)
	for _, line := range []string{"A=$(touch x)", "A=`id`", "touch x", "export A=1 >y", "A+=1", "A=(1)", "export A=$((1/0))", "A=<(id)", "A=${B:=x}", "A=${!B}", "A=${#B}", "if", "A=${B@P}"} {
		if err := v.Add("SessionStart", []string{line}, true); err == nil || !strings.Contains(err.Error(), "CLAUDE_ENV_FILE") {
			t.Errorf("%s: %v", line, err)
		}
		if got := v.List(); len(got) > 0 {
			t.Errorf("%s sets %q", line, got)
		}
	}
	if err := v.Add("SessionStart", []string{"export SWARM_AGENT=x A=1\nif"}, true); err == nil {
		t.Error("text that does not parse is no error")
	}
	if err := v.Add("SessionStart", []string{"export SWARM_AGENT=x A=1"}, true); err != nil || !slices.Equal(v.List(), []string{"A=1"}) {
		t.Errorf("%q, %v", v.List(), err)
	}
	if err := v.Add("SessionStart", []string{"A=" + strings.Repeat("x", maxSize)}, true); err == nil {
		t.Error("a text of any size is recorded")
	}
}
