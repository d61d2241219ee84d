package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	inlineOutput = 30_000    // characters of output in a result
	maxOutput    = 64 << 20  // bytes a foreground command may print
	maxTaskBytes = 512 << 20 // bytes a background command may print
)

// capture stores the output of one command: its start and end in memory, and all of it in
// a file once it is too long for a result.
type capture struct {
	dir, name string // of the file; no file if dir is ""
	limit     int64
	full      chan struct{} // closed when limit is reached

	mu      sync.Mutex
	head    []byte // all of the output until it is too long, then its start
	tail    []byte // the end of the output when there is a head only
	total   int64
	file    *os.File
	fileErr error // why the file is not complete
}

func newCapture(dir, name string, limit int64) *capture {
	return &capture{dir: dir, name: name, limit: limit, full: make(chan struct{})}
}

// Write never fails, so that a full disk does not block the command; the result reports
// what could not be stored.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	before := c.total
	p = p[:min(int64(n), c.limit-before)]
	c.total += int64(len(p))
	if before < c.limit && c.total == c.limit {
		close(c.full)
	}
	c.keep(p)
	return n, nil
}

func (c *capture) keep(p []byte) {
	if c.file == nil && len(c.head)+len(p) > inlineOutput && c.fileErr == nil {
		c.openFile()
	}
	c.spill(p)
	room := max(inlineOutput-len(c.head), 0)
	if room > len(p) {
		room = len(p)
	}
	c.head = append(c.head, p[:room]...)
	c.tail = append(c.tail, p[room:]...)
	if len(c.tail) > 4*inlineOutput {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-inlineOutput:]...)
	}
}

// open creates the file at once, for output that is read while it grows.
func (c *capture) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openFile()
	return c.fileErr
}

// extend raises the limit and creates the file if necessary, with all output so far. A
// command that has reached its limit remains ended.
func (c *capture) extend(limit int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total < c.limit {
		c.limit = limit
	}
	if c.file == nil && c.fileErr == nil {
		c.openFile()
	}
	return c.fileErr
}

func (c *capture) openFile() {
	if c.dir == "" {
		c.fileErr = errors.New("there is no folder for outputs")
		return
	}
	if c.fileErr = os.MkdirAll(c.dir, 0o700); c.fileErr != nil {
		return
	}
	c.file, c.fileErr = os.OpenFile(c.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	c.spill(c.head)
}

func (c *capture) path() string { return filepath.Join(c.dir, c.name) }

func (c *capture) spill(p []byte) {
	if c.file == nil || c.fileErr != nil {
		return
	}
	_, c.fileErr = c.file.Write(p)
}

// close ends the file; the output stays readable.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return
	}
	err := c.file.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	c.fileErr = errors.Join(c.fileErr, err)
}

// savedFile returns the path and the size of the file, or "".
func (c *capture) savedFile() (path string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return "", 0
	}
	return c.path(), c.total
}

// text returns the output for a result: whole, or its start and end with a line between
// them that names the file with the rest.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tail) == 0 {
		return printable(c.head)
	}
	const each = inlineOutput/2 - 300 // leaves room for the line between
	all := c.head
	end := c.tail
	if len(end) < each {
		end = append(all[len(all)-(each-len(end)):len(all):len(all)], end...)
	}
	start, rest := cutRune(all[:each]), end[len(end)-each:]
	for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
		rest = rest[1:]
	}
	left := c.total - int64(len(start)) - int64(len(rest))
	return fmt.Sprintf("%s\n\n[… %d of %d bytes left out; %s …]\n\n%s", printable(start), left, c.total, c.where(), printable(rest))
}

func (c *capture) where() string {
	switch {
	case c.fileErr != nil:
		return fmt.Sprintf("the whole output could not be kept: %v", c.fileErr)
	case c.file != nil:
		return "the whole output is in " + c.path()
	}
	return "the rest was not kept"
}

func cutRune(b []byte) []byte {
	for n := len(b); n > 0 && n > len(b)-utf8.UTFMax; n-- {
		if r, _ := utf8.DecodeLastRune(b[:n]); r != utf8.RuneError {
			return b[:n]
		}
	}
	return b
}

// printable makes output valid UTF-8 without NULs and without line ends at its end.
func printable(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\u2400")
	return strings.TrimRight(s, "\n")
}
