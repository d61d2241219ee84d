package tui

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/internal/term"
)

// canvas is the terminal, with what the renderer does not know of it: whether a
// frame has been drawn, and how far a terminal that has become narrower has moved
// the frame when it broke its lines anew.
type canvas struct {
	*os.File
	// breaks says that the terminal breaks lines anew when its width changes.
	breaks bool
	// drawn gets a token when a frame is there that was waited for: what is printed
	// above one that is not would be drawn over.
	drawn chan struct{}

	mu    sync.Mutex
	await bool  // guarded by mu, as all below
	next  frame // that the renderer was given last
	shown frame // that is on the terminal
	up    int   // rows by which its first line is above where the renderer takes it to be
}

// frame is what the rows of a frame take above the cursor.
type frame []int // columns of each

func newCanvas(f *os.File, getenv func(string) string) *canvas {
	return &canvas{File: f, breaks: breaksLines(getenv), drawn: make(chan struct{}, 1), await: true}
}

// breaksLines knows the terminals that cut lines, when they become narrower, instead
// of breaking them: xterm, GNU screen and the Linux console.
func breaksLines(getenv func(string) string) bool {
	if getenv == nil || getenv("TMUX") != "" {
		return true
	}
	return getenv("XTERM_VERSION") == "" && getenv("STY") == "" && getenv("TERM") != "linux"
}

// Write takes what the renderer draws or prints.
func (c *canvas) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.HasPrefix(p, []byte("\r")) { // text above the frame, which stays as it is
		return c.File.Write(p)
	}
	c.shown = c.next
	if c.up > 0 {
		if _, err := fmt.Fprintf(c.File, "\x1b[%dA", c.up); err != nil {
			return 0, err
		}
		c.up = 0
	}
	n, err := c.File.Write(p)
	if c.await && bytes.Contains(p, []byte(strings.TrimSpace(prompt))) {
		c.await = false
		select {
		case c.drawn <- struct{}{}:
		default: // it is known already
		}
	}
	return n, err
}

// give notes the lines above the cursor of what the renderer is to draw next.
func (c *canvas) give(above []string) {
	f := make(frame, len(above))
	for i, line := range above {
		f[i] = term.Width(term.Clean(line))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = f
}

// resized takes in that the terminal has so many columns now. It reports whether
// nothing may be printed before the next frame is drawn.
func (c *canvas) resized(columns int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = 0
	for _, width := range c.shown {
		if c.breaks && width > columns {
			c.up += (width - 1) / columns
		}
	}
	if c.up > 0 {
		c.await = true
	}
	return c.up > 0
}
