package tui

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/internal/term"
)

// canvas is the terminal with two facts that the renderer does not know: whether a
// frame has been drawn, and by how many rows a narrower terminal has moved the frame
// when it wrapped its lines again.
type canvas struct {
	*os.File
	// rewraps is set for a terminal that wraps lines again when its width changes.
	rewraps bool
	// drawn gets a token when an awaited frame has been drawn: text printed before that
	// would be overwritten.
	drawn chan struct{}

	// width returns the columns that the terminal has now. A frame may be drawn before
	// the program hears that they have changed.
	width func() (columns int, known bool)

	mu       sync.Mutex
	awaiting bool  // guarded by mu, as all below
	columns  int   // as the program heard of them last; 0 if it did not
	next     frame // given to the renderer last
	shown    frame // on the terminal
}

// frame holds the columns of each row of a frame above the cursor.
type frame []int

func newCanvas(f *os.File, getenv func(string) string) *canvas {
	return &canvas{
		File: f, rewraps: rewrapsLines(getenv), drawn: make(chan struct{}, 1), awaiting: true,
		width: func() (int, bool) { return term.Columns(f) },
	}
}

// rewrapsLines reports whether the terminal wraps lines again when it becomes narrower.
// xterm, GNU screen and the Linux console cut them.
func rewrapsLines(getenv func(string) string) bool {
	if getenv == nil || getenv("TMUX") != "" {
		return true
	}
	return getenv("XTERM_VERSION") == "" && getenv("STY") == "" && getenv("TERM") != "linux"
}

// Write writes what the renderer draws or prints.
func (c *canvas) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.HasPrefix(p, []byte("\r")) { // text above the frame, which stays as it is
		return c.File.Write(p)
	}
	if columns, known := c.width(); known {
		c.columns = columns
	}
	if up := c.rowsAbove(); up > 0 {
		if _, err := fmt.Fprintf(c.File, "\x1b[%dA", up); err != nil {
			return 0, err
		}
	}
	c.shown = c.next
	n, err := c.File.Write(p)
	if c.awaiting && bytes.Contains(p, []byte(strings.TrimSpace(prompt))) {
		c.awaiting = false
		select {
		case c.drawn <- struct{}{}:
		default: // a token is there already
		}
	}
	return n, err
}

// WriteString is Write: the one of os.File would go past it.
func (c *canvas) WriteString(p string) (int, error) { return c.Write([]byte(p)) }

// setNext records the lines above the cursor of the frame that the renderer will draw
// next.
func (c *canvas) setNext(above []string) {
	f := make(frame, len(above))
	for i, line := range above {
		f[i] = term.Width(term.Clean(line))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = f
}

// resized records the new number of columns. It reports whether nothing may be printed
// before the next frame is drawn.
func (c *canvas) resized(columns int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.columns = columns
	moved := c.rowsAbove() > 0
	c.awaiting = c.awaiting || moved
	return moved
}

// rowsAbove returns by how many rows the frame on the terminal begins above where the
// renderer expects it.
func (c *canvas) rowsAbove() (rows int) {
	for _, width := range c.shown {
		if c.rewraps && c.columns > 0 && width > c.columns {
			rows += (width - 1) / c.columns
		}
	}
	return rows
}
