package definitions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEditorCommandsAreSplitWithoutAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"vi":                        {"vi"},
		"  code   --wait ":          {"code", "--wait"},
		`"/opt/my editor" -x 'a b'`: {"/opt/my editor", "-x", "a b"},
		`a\ b "c\"d" '\' ""`:        {"a b", `c"d`, `\`, ""},
		"x -rf $HOME *":             {"x", "-rf", "$HOME", "*"},
		"":                          nil,
	} {
		got, err := splitWords(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{`"a`, "'a", `a\`, "x; rm -rf /", "$(rm -rf /)", "a | b"} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q gives %q", text, got)
		}
	}
}
