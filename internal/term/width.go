package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the number of columns that text takes. Text is one line that Clean has
// returned.
func Width(text string) int { return ansi.StringWidth(text) }

// Cut shortens text to at most n columns, the last of them an ellipsis.
func Cut(text string, n int) string {
	switch {
	case n < 1:
		return ""
	case fittingBytes(text, n) == len(text):
		return text
	}
	return strings.TrimRight(text[:fittingBytes(text, n-1)], " ") + "…"
}

// Wrap breaks text between words into at most max lines of n columns and cuts the rest
// off with an ellipsis.
func Wrap(text string, n, max int) []string {
	words := strings.Fields(text)
	var lines []string
	for len(words) > 0 {
		if len(lines) == max-1 {
			return append(lines, Cut(strings.Join(words, " "), n))
		}
		line := words[0]
		rest := words[1:]
		for len(rest) > 0 && Width(line)+1+Width(rest[0]) <= n {
			line, rest = line+" "+rest[0], rest[1:]
		}
		if head, tail := split(line, n); tail != "" { // one word, longer than a line
			line, rest = head, append([]string{tail}, rest...)
		}
		lines, words = append(lines, line), rest
	}
	return lines
}

// Fold breaks a text of several lines at blanks so that no line has more than n
// columns, and keeps indentation. Lines that fit stay unchanged.
func Fold(text string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for fittingBytes(line, n) < len(line) {
			head, tail := split(line, n)
			if tail == "" { // one character, wider than a line
				break
			}
			if at := strings.LastIndexByte(head, ' '); at > 0 && tail[0] != ' ' && strings.TrimSpace(head[:at]) != "" {
				head, tail = head[:at], line[at:]
			}
			lines, line = append(lines, strings.TrimRight(head, " ")), strings.TrimLeft(tail, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// split splits text after as much as fits into n columns, at least one character.
func split(text string, n int) (head, tail string) {
	at := fittingBytes(text, n)
	if at == 0 {
		first, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		at = len(first)
	}
	return text[:at], text[at:]
}

// fittingBytes returns how many bytes of text fit into n columns, in whole characters
// as a reader sees them. ansi.Truncate and ansi.Wrap count a digit that is drawn as a
// picture, as in "1️⃣", as one column, which is too few.
func fittingBytes(text string, n int) int {
	at := 0
	for at < len(text) {
		char, columns := ansi.FirstGraphemeCluster(text[at:], ansi.GraphemeWidth)
		if n -= columns; n < 0 {
			break
		}
		at += len(char)
	}
	return at
}
