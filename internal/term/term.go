// Package term prepares text for a terminal: it removes control sequences, and cuts,
// wraps and folds the rest to a number of columns.
//
// The output of agents is not trusted, so it goes through Clean or CleanLines first:
//
//	name := term.Cut(term.Clean(agent.Name), 20)
//	for _, line := range term.Fold(term.CleanLines(reply), width) {
//		fmt.Fprintln(w, line)
//	}
//
// Columns are those of a terminal that knows grapheme clusters: a family of four
// joined emoji takes two columns.
//
// Laws:
//
//   - Clean: what Clean, CleanText and CleanLines return neither moves the cursor nor
//     colours the screen nor changes the direction of writing
//     (TestCleanRemovesControlSequences, FuzzCleanRemovesControlSequences).
//   - Width: the lines that Cut, Wrap and Fold return are at most as wide as
//     asked. The one exception is a character that alone is wider than a line of
//     Wrap or Fold: it gets a line of its own (TestWidthOfKnownCharacters,
//     TestCutKeepsTheWidth, TestFoldKeepsTheWidthAndTheIndentation,
//     FuzzLinesKeepTheWidth).
//   - Whole characters: a character of several code points is never split
//     (FuzzLinesKeepTheWidth).
package term

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean removes from text what would move the cursor, colour the terminal or change the
// direction of writing, and bytes that are not UTF-8, which some terminals act on.
func Clean(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, actsOnTerminal) {
		return text
	}
	text = escapes.ReplaceAllLiteralString(strings.ToValidUTF8(text, ""), "")
	return strings.Map(func(r rune) rune {
		switch {
		case !actsOnTerminal(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, text)
}

// escapes matches the sequences that terminals act on: of colours and the cursor, those
// that contain a text such as a title, and the short ones.
var escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]?` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})` +
	`|\x1b[ -/]*[0-~]?`)

func actsOnTerminal(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// CleanText is Clean for a text of several lines that goes into a pipe or a file: tabs and
// ends of lines stay as they are.
func CleanText(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && actsOnTerminal(r) }) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		bare := strings.TrimSuffix(body, "\r")
		for i, part := range strings.Split(bare, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(Clean(part))
		}
		if len(body) < len(line) {
			b.WriteString(line[len(bare):])
		}
	}
	return b.String()
}

// CleanLines is Clean for a text of several lines. It turns tabs into spaces.
func CleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}
