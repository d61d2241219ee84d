package tui

import (
	"bytes"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/actorswarm/swarm/internal/term"
)

// canvas is the terminal as the renderer writes to it. The renderer draws differences
// to a frame that it believes to be on the terminal, at a place that it believes to
// know. The canvas makes both true: it drops what is drawn for another width than the
// terminal has now, asks for the whole frame, and puts that where the last one begins.
// Text that is to stand above the frame goes to the terminal together with a whole frame.
type canvas struct {
	*os.File
	// rewraps is set for a terminal that wraps lines again when its width changes.
	rewraps bool
	// stale gets a token when the program should hear of the terminal's size: the
	// renderer draws a whole frame after that.
	stale chan struct{}
	// size returns the columns and rows that the terminal has now. A frame may be drawn
	// before the program hears that they have changed.
	size func() (columns, rows int, known bool)

	mu      sync.Mutex
	columns int      // guarded by mu, as all below; as the program heard last, 0 before
	rows    int      // likewise
	above   []string // lines that are to be printed above the frame
	lost    bool     // something the renderer drew has been dropped
	drawn   bool     // there is a frame on the terminal
	virtual frame    // as the renderer believes it to be on the terminal
	shown   frame    // on the terminal
}

func newCanvas(f *os.File, getenv func(string) string) *canvas {
	return &canvas{
		File: f, rewraps: rewrapsLines(getenv), stale: make(chan struct{}, 1),
		size: func() (int, int, bool) { return term.Size(f) },
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

// Write writes what the renderer draws, or drops it and asks for a whole frame.
func (c *canvas) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drawn && !isWhole(p) {
		return c.File.Write(p) // questions to the terminal
	}
	believed := c.virtual.row
	c.virtual.draw(p)
	columns, _ := c.sizeNow()
	up := c.rowsAbove(columns)
	moved := c.lost || len(c.above) > 0 || up != c.shown.row
	unfit := c.columns > 0 && columns != c.columns || moved && !isWhole(p)
	if c.drawn && unfit && !restoresModes(p) {
		c.lost = true
		c.ask()
		return len(p), nil
	}
	var to []byte
	if moved {
		to = c.placeFrame(up, believed)
	}
	if _, err := c.File.Write(append(to, p...)); err != nil {
		return 0, err
	}
	c.above, c.lost, c.drawn, c.shown = nil, false, true, c.virtual.clone()
	return len(p), nil
}

// rowsAbove returns how many rows the frame on a terminal of so many columns begins above
// the cursor.
func (c *canvas) rowsAbove(columns int) int {
	if c.rewraps && columns > 0 {
		return c.shown.rowsAbove(columns)
	}
	return c.shown.row
}

// placeFrame returns what erases the frame on the terminal, whose cursor is so many rows
// below its top, prints the lines above it, and moves the cursor to where the renderer
// believes it to be.
func (c *canvas) placeFrame(up, believed int) []byte {
	to := []byte("\r")
	if up > 0 {
		to = append(to, ansi.CursorUp(up)...)
	}
	to = append(to, ansi.EraseScreenBelow...)
	for _, line := range c.above {
		to = append(append(to, line...), "\r\n"...)
	}
	return append(to, strings.Repeat("\n", believed)...)
}

// isWhole reports whether the renderer draws a frame anew: it erases the one before.
func isWhole(p []byte) bool { return bytes.Contains(p, []byte(ansi.EraseScreenBelow)) }

// restoresModes reports whether the renderer ends: what it writes then is never dropped.
func restoresModes(p []byte) bool {
	return bytes.Contains(p, []byte(ansi.ResetModeBracketedPaste))
}

// ask has the program hear of the terminal's size.
func (c *canvas) ask() {
	select {
	case c.stale <- struct{}{}:
	default: // a token is there already
	}
}

// WriteString is Write: the one of os.File would go past it.
func (c *canvas) WriteString(p string) (int, error) { return c.Write([]byte(p)) }

// print prints lines above the frame.
func (c *canvas) print(lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.above = append(c.above, lines...)
	c.ask()
}

// resized records the columns and rows that the renderer draws for.
func (c *canvas) resized(columns, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.columns, c.rows = columns, rows
}

// sizeNow returns the size of the terminal now or, if that is not known, the one that
// the program heard of last. The caller holds mu.
func (c *canvas) sizeNow() (columns, rows int) {
	if columns, rows, known := c.size(); known {
		return columns, rows
	}
	return c.columns, c.rows
}

// windowSize returns the message that has the renderer draw a whole frame.
func (c *canvas) windowSize() tea.WindowSizeMsg {
	c.mu.Lock()
	defer c.mu.Unlock()
	columns, rows := c.sizeNow()
	return tea.WindowSizeMsg{Width: columns, Height: rows}
}
