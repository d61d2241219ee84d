package builtin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// searchFiles is the search in process; it gives the results ripgrep gives,
// but for \b, \w, \d and \s, which know only ASCII here.
func searchFiles(ctx context.Context, q *query, re *regexp.Regexp, emit func(string) bool) error {
	files := []string{q.only}
	if q.only == "" {
		var err error
		if files, err = sources(ctx, q.real, q.env); err != nil {
			return err
		}
	}
	between := false // a group of lines was shown before
	for _, rel := range files {
		if ctx.Err() != nil {
			return fmt.Errorf("the search was stopped: %w", context.Cause(ctx))
		}
		if q.only == "" && !q.selects(rel) {
			continue
		}
		content, ok := searchable(filepath.Join(q.real, filepath.FromSlash(rel)))
		if !ok {
			continue
		}
		f := fileSearch{q: q, name: q.display(rel), content: content, re: re, emit: emit, between: between}
		if q.conceals != nil && (!f.matches() || q.conceal(rel)) {
			continue
		}
		if !f.run() {
			return nil
		}
		between = between || f.between
	}
	return nil
}

// searchable reads a file unless it is a link, special, too large, missing or binary.
func searchable(path string) ([]byte, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
		return nil, false
	}
	content, err := readSmall(path, maxText+1)
	if err != nil || len(content) > maxText || bytes.IndexByte(content[:min(len(content), binarySniff)], 0) >= 0 {
		return nil, false
	}
	return content, true
}

const binarySniff = 64 << 10 // bytes in which a NUL makes a file binary

// fileSearch is the search of one file.
type fileSearch struct {
	q       *query
	name    string
	content []byte
	re      *regexp.Regexp
	emit    func(string) bool
	between bool // a group of lines was shown before
}

// run reports whether more results are wanted.
func (f *fileSearch) run() bool {
	switch {
	case f.q.mode == modeFiles:
		if f.matches() {
			return f.emit(f.name)
		}
		return true
	case f.q.mode == modeCount:
		if n := f.count(); n > 0 {
			return f.emit(f.name + ":" + strconv.Itoa(n))
		}
		return true
	case f.q.parts:
		return f.showParts()
	}
	return f.showLines()
}

func (f *fileSearch) matches() bool {
	if f.q.multiline {
		return f.re.Match(f.content)
	}
	for line := range bytes.Lines(f.content) {
		if f.re.Match(chomp(line)) {
			return true
		}
	}
	return false
}

func (f *fileSearch) count() int {
	if f.q.multiline {
		return len(f.re.FindAllIndex(f.content, -1))
	}
	n := 0
	for line := range bytes.Lines(f.content) {
		if f.re.Match(chomp(line)) {
			n++
		}
	}
	return n
}

// showParts shows what matched, a line for every line of a match.
func (f *fileSearch) showParts() bool {
	if f.q.multiline {
		number, last := 1, 0
		for _, m := range f.re.FindAllIndex(f.content, -1) {
			number += bytes.Count(f.content[last:m[0]], []byte{eol})
			last = m[0]
			if !f.showPart(number, f.content[m[0]:m[1]]) {
				return false
			}
		}
		return true
	}
	number := 0
	for line := range bytes.Lines(f.content) {
		number++
		for _, part := range f.re.FindAll(chomp(line), -1) {
			if len(part) > 0 && !f.showPart(number, part) {
				return false
			}
		}
	}
	return true
}

func (f *fileSearch) showPart(number int, part []byte) bool {
	for line := range bytes.Lines(part) {
		if !f.emit(f.q.line(f.name, number, true, chomp(line))) {
			return false
		}
		number++
	}
	return true
}

// showLines shows the lines that matched with the lines around them.
func (f *fileSearch) showLines() bool {
	lines := bytes.SplitAfter(f.content, []byte{eol})
	if n := len(lines); len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	hits := f.hits(lines)
	next := 0 // first line not yet shown
	for i := 0; i < len(lines); i++ {
		if !hits[i] {
			continue
		}
		from := max(i-f.q.before, next)
		if f.grouped() && f.between && (from > next || next == 0) && !f.emit(groupEnd) {
			return false
		}
		f.between = true
		next = f.extent(i, hits)
		for n := from; n < next; n++ {
			if !f.emit(f.q.line(f.name, n+1, hits[n], chomp(lines[n]))) {
				return false
			}
		}
		i = next - 1
	}
	return true
}

func (f *fileSearch) grouped() bool { return f.q.before > 0 || f.q.after > 0 }

// extent returns the line after the last one to show for the match at i and
// the matches its context reaches.
func (f *fileSearch) extent(i int, hits []bool) int {
	last := i
	for n := i + 1; n < len(hits) && n <= last+f.q.after; n++ {
		if hits[n] {
			last = n
		}
	}
	return min(last+f.q.after+1, len(hits))
}

// hits marks the lines that are part of a match.
func (f *fileSearch) hits(lines [][]byte) []bool {
	hits := make([]bool, len(lines))
	if !f.q.multiline {
		for i, line := range lines {
			hits[i] = f.re.Match(chomp(line))
		}
		return hits
	}
	start, i := 0, 0 // of line i
	for _, m := range f.re.FindAllIndex(f.content, -1) {
		for i < len(lines) && start+len(lines[i]) <= m[0] {
			start += len(lines[i])
			i++
		}
		at := start
		for n := i; n < len(lines) && (n == i || at < m[1]); n++ {
			hits[n] = true
			at += len(lines[n])
		}
	}
	return hits
}

const eol = '\n'

func chomp(line []byte) []byte { return bytes.TrimSuffix(line, []byte{eol}) }
