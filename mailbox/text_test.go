package mailbox_test

import (
	"testing"
	"unicode/utf8"

	"github.com/actorswarm/swarm/mailbox"
)

func TestCutKeepsCharactersWhole(t *testing.T) {
	const text = "aé€😀"
	for n := range len(text) + 2 {
		got := mailbox.Cut(text, n)
		if len(got) > n || !utf8.ValidString(got) || text[:len(got)] != got {
			t.Errorf("Cut to %d bytes gives %q", n, got)
		}
	}
	if got := mailbox.Cut(text, len(text)); got != text {
		t.Errorf("a text that fits is cut to %q", got)
	}
}

func TestFirstLineMarksOmission(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"\n  one line  \n": "one line",
		"first\nsecond":    "first",
		"ääääääääääää":     "äääääää…",
	} {
		if got := mailbox.FirstLine(text, 8); got != want {
			t.Errorf("FirstLine(%q) is %q, want %q", text, got, want)
		}
	}
}
