package builtin

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const maxLineRunes = 2000 // of one line, shown by Read

// lineReader reads lines of any length in bounded memory: it keeps the start of a line and
// counts the rest.
type lineReader struct {
	r    *bufio.Reader
	keep int // bytes kept of a line
}

// next returns the start of the next line without its end, and how many bytes
// of it were dropped. io.EOF comes after the last line; a file that ends with
// a line end has no empty last line.
func (l *lineReader) next(buf []byte) (line []byte, dropped int, err error) {
	line, read := buf[:0], 0
	for {
		part, err := l.r.ReadSlice('\n')
		read += len(part)
		room := min(len(part), l.keep-len(line))
		line = append(line, part[:room]...)
		dropped += len(part) - room
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && read == 0:
			return nil, 0, io.EOF
		case err != nil && err != io.EOF:
			return nil, 0, err
		}
		if dropped > 0 && err == nil {
			dropped-- // the line end itself
			return line, dropped, nil
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), dropped, nil
	}
}

// clipLine makes a line printable: valid UTF-8 of at most n characters.
func clipLine(line []byte, dropped, n int) string {
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if len(text) <= n && dropped == 0 {
		return text
	}
	count := utf8.RuneCountInString(text)
	if count <= n && dropped == 0 {
		return text
	}
	return fmt.Sprintf("%s… [line cut, about %d more characters]", firstRunes(text, n), max(count-n, 0)+dropped)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func countLines(content []byte) int {
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

func inLines(content []byte) string {
	if n := countLines(content); n != 1 {
		return fmt.Sprintf("%d lines", n)
	}
	return "1 line"
}

// numbered renders lines first..last of a content as Read shows them.
func numbered(content []byte, shown span) string {
	var b strings.Builder
	n := 0
	for line := range bytes.Lines(content) {
		if n++; n > shown.to {
			break
		}
		if n >= shown.from {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			fmt.Fprintf(&b, "%6d\t%s\n", n, clipLine(line, 0, maxLineRunes))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
