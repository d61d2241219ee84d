package term

import (
	"strings"
	"testing"
)

func TestCutKeepsTheWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"a word here", 8, "a word…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := Cut(c.text, c.n); got != c.want || Width(got) > c.n {
			t.Errorf("Cut(%q, %d) = %q (%d columns), want %q", c.text, c.n, got, Width(got), c.want)
		}
	}
}

func TestCleanTakesOutWhatActsOnATerminal(t *testing.T) {
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

func FuzzCut(f *testing.F) {
	f.Add("日本語 and more", 7)
	f.Add("\x1b[0m", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 1 + (n&0xff+0x100)%200
		got := Cut(Clean(text), n)
		if Width(got) > n || strings.ContainsFunc(got, unsafe) {
			t.Errorf("Cut(%q, %d) = %q with %d columns", text, n, got, Width(got))
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text   string
		n, max int
		want   string
	}{
		{"", 10, 3, ""},
		{"one two three", 20, 3, "one two three"},
		{"one two three", 7, 3, "one two|three"},
		{"one two three four", 5, 2, "one|two…"},
		{"abcdefghij kl", 4, 9, "abcd|efgh|ij|kl"},
		{"日本語 x", 4, 9, "日本|語 x"},
		{"日", 1, 9, "日"},
	} {
		if got := strings.Join(Wrap(c.text, c.n, c.max), "|"); got != c.want {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.text, c.n, c.max, got, c.want)
		}
	}
}

func TestFoldKeepsTheWidthAndTheIndentation(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 10, ""},
		{"fits", 4, "fits"},
		{"one two three", 7, "one two|three"},
		{"  if x {\n    y()", 20, "  if x {|    y()"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"日本語", 4, "日本|語"},
		{"a\n\nb", 4, "a||b"},
		{"    abcdefgh", 8, "    abcd|efgh"},
	} {
		if got := strings.Join(Fold(c.text, c.n), "|"); got != c.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
