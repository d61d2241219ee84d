package defs

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeText decodes a file into text with "\n" line ends. bad is the line of the first byte
// that is not UTF-8, or 0.
func decodeText(src []byte) (text string, bad int) {
	switch {
	case bytes.HasPrefix(src, []byte{0xFF, 0xFE}):
		return unixLines(decodeUTF16(src[2:], 0, 1)), 0
	case bytes.HasPrefix(src, []byte{0xFE, 0xFF}):
		return unixLines(decodeUTF16(src[2:], 1, 0)), 0
	}
	src = bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF"))
	if utf8.Valid(src) {
		return unixLines(string(src)), 0
	}
	return replaceInvalid(src)
}

// windows1252 are the characters of the bytes 0x80 to 0x9F in the encoding that
// editors mean when they do not mean UTF-8. The five unused ones are blanks.
const windows1252 = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ"

// replaceInvalid reads stray bytes as Windows-1252; valid sequences around
// them stay.
func replaceInvalid(src []byte) (string, int) {
	var b strings.Builder
	b.Grow(len(src) + len(src)/8)
	bad, line := 0, 1
	legacy := []rune(windows1252)
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		if r == utf8.RuneError && n == 1 {
			r = rune(src[0])
			if r < 0xA0 {
				r = legacy[r-0x80]
			}
			if bad == 0 {
				bad = line
			}
		}
		if r == '\n' {
			line++
		}
		b.WriteRune(r)
		src = src[n:]
	}
	return unixLines(b.String()), bad
}

func decodeUTF16(src []byte, lo, hi int) string {
	units := make([]uint16, 0, len(src)/2)
	for i := 0; i+1 < len(src); i += 2 {
		units = append(units, uint16(src[i+lo])|uint16(src[i+hi])<<8)
	}
	return string(utf16.Decode(units))
}

func unixLines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

// fold returns the form in which names and keys are compared, without case and separators.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', ' ', '.':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// shorten shortens a quoted value for a one-line message.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}
