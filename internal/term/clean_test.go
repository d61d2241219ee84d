package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanRemovesWholeEscapeSequences(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                          "plain",
		"\x1b[1;31mred\x1b[0m text":      "red text",
		"\x1b]0;title\x07after":          "after",
		"\x1b]8;;http://x\x1b\\link":     "link",
		"\x1b]0;never ended":             "0;never ended",
		"\x1b(Bcharset \x1b7saved":       "charset saved",
		"\x1bPdevice\x1b\\control":       "control",
		"half \x1b[":                     "half ",
		"half \x1b":                      "half ",
		"\x1b\x1b[2Jtwice":               "twice",
		"\u009b2Jeight bits":             "eight bits",
		"bell\a back\b":                  "bell back",
		"over\rwritten":                  "over written",
		"\u202eevil":                     "evil",
		"\x9b2Jno\xff UTF-8":             "2Jno UTF-8",
		"\x1b[31\x1b[32mbroken sequence": "broken sequence",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanRemovesControlSequences(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;x\x07")
	f.Fuzz(func(t *testing.T, text string) {
		got := Clean(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, actsOnTerminal) {
			t.Errorf("Clean(%q) = %q", text, got)
		}
		if again := Clean(got); again != got {
			t.Errorf("Clean(%q) is not clean: %q, %q", text, got, again)
		}
	})
}

func TestCleanTextKeepsTabsAndLineEnds(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\n\tc\n":                "a\tb\n\tc\n",
		"dos\r\nlines\r\n":           "dos\r\nlines\r\n",
		"over\rwritten\r":            "over written",
		"\x1b]52;c;eA==\aone\t\ntwo": "one\t\ntwo",
		"\u009b2J\x1b[31m\tred":      "\tred",
	} {
		if got := CleanText(in); got != want {
			t.Errorf("CleanText(%q) = %q, want %q", in, got, want)
		}
	}
}
