package mailbox

import (
	"strings"
	"unicode/utf8"
)

// FirstLine returns at most n characters of the first line of a text, for summaries.
func FirstLine(text string, n int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return line
}

// Cut returns at most n bytes of a text, cut between characters.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
