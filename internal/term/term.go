// Package term makes texts fit for a terminal: cleaned of what acts on one, and
// as wide as they may be.
//
// Laws:
//
//   - Clean: what Clean and CleanLines return neither moves the cursor nor
//     colours the screen nor turns the direction of writing
//     (TestCleanTakesOutWhatActsOnATerminal, FuzzCleanLeavesNothingThatActs).
//   - Width: what Cut, Wrap and Fold return is no wider than was asked, as
//     terminals count columns (TestCutKeepsTheWidth,
//     TestFoldKeepsTheWidthAndTheIndentation, FuzzCut).
package term

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean takes out of text what would move the cursor, colour the terminal or
// turn the direction of writing, and bytes that are no UTF-8, which some terminals
// act on: agents show what strangers wrote.
func Clean(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unsafe) {
		return text
	}
	text = escapes.ReplaceAllLiteralString(strings.ToValidUTF8(text, ""), "")
	return strings.Map(func(r rune) rune {
		switch {
		case !unsafe(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, text)
}

// escapes matches the sequences that terminals act on: those of colours and the
// cursor, those that hold a text such as a title, and the short ones.
var escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]?` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})` +
	`|\x1b[ -/]*[0-~]?`)

func unsafe(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// CleanLines is Clean for a text of several lines.
func CleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

// Cut shortens text to at most n columns, the last of them an ellipsis.
func Cut(text string, n int) string {
	used, keep := 0, 0
	for i, r := range text {
		if used <= n-1 {
			keep = i
		}
		if used += columnsOf(r); used > n {
			return strings.TrimRight(text[:keep], " ") + "…"
		}
	}
	return text
}

// Wrap breaks text between words into at most max lines of n columns; what is
// left over is cut off with an ellipsis.
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
// columns, and keeps the blanks that lines begin with. Lines that fit stay as
// they are.
func Fold(text string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for Width(line) > n {
			head, tail := split(line, n)
			if at := strings.LastIndexByte(head, ' '); at > 0 && tail[0] != ' ' && strings.TrimSpace(head[:at]) != "" {
				head, tail = head[:at], line[at:]
			}
			lines, line = append(lines, strings.TrimRight(head, " ")), strings.TrimLeft(tail, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// split takes as much of text as fits into n columns, at least one rune.
func split(text string, n int) (head, tail string) {
	used := 0
	for i, r := range text {
		if used += columnsOf(r); used > n && i > 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// Width is the number of columns that text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide holds the scripts and pictures that terminals draw over two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x23e9, 0x23ec, 1},
		{0x2614, 0x2615, 1},
		{0x26a1, 0x26a1, 1},
		{0x2705, 0x2705, 1},
		{0x274c, 0x274c, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0xa4cf, 1},
		{0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}
