package term

import "testing"

func TestCleanRemovesControlSequences(t *testing.T) {
	for text, want := range map[string]string{
		"plain ü 日":              "plain ü 日",
		"a\x1b[31mred":           "ared",
		"one\ntwo\tthree":        "one two three",
		"\u202etxt.exe\u2066\a":  "txt.exe",
		"\u009b2J and \x00 zero": " and  zero",
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}
