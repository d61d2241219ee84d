package main

import (
	"hash/fnv"
	"io"

	"github.com/actorswarm/swarm/internal/term"
	"golang.org/x/sys/unix"
)

// screen says what lines may look like.
type screen struct {
	out   io.Writer
	color bool
}

// plainWidth is the width where nobody knows one.
const plainWidth = 80

func newScreen(out io.Writer, env func(string) string) screen {
	_, terminal := columns(out)
	return screen{out: out, color: terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// width is asked for each line, since people drag windows.
func (s screen) width() int {
	if n, ok := columns(s.out); ok && n > 0 {
		return n
	}
	return plainWidth
}

// columns returns the width of the terminal behind out, if there is one.
func columns(out any) (n int, terminal bool) {
	f, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}

// The colours that definitions can name, and a few that people use besides.
var (
	colorCodes = map[string]string{
		"red": "31", "green": "32", "yellow": "33", "blue": "34", "purple": "35", "magenta": "35", "cyan": "36",
		"orange": "38;5;208", "pink": "38;5;205", "gray": "90", "gold": "38;5;220", "indigo": "38;5;62",
	}
	palette = [...]string{"36", "32", "35", "33", "34", "38;5;208", "38;5;205", "38;5;109", "38;5;143", "38;5;139"}
)

// paint colours an agent's name with its own colour, or else with one that it
// keeps from run to run.
func (s screen) paint(name, color string) string {
	if !s.color {
		return name
	}
	code, ok := colorCodes[color]
	if !ok {
		h := fnv.New32a()
		io.WriteString(h, name) // a hash takes everything
		code = palette[h.Sum32()%uint32(len(palette))]
	}
	return "\x1b[" + code + "m" + name + "\x1b[0m"
}

// These say in one word what package term does with the texts of agents.
func clean(text string) string               { return term.Clean(text) }
func cleanLines(text string) string          { return term.CleanLines(text) }
func cut(text string, n int) string          { return term.Cut(text, n) }
func wrap(text string, n, most int) []string { return term.Wrap(text, n, most) }
func widthOf(text string) int                { return term.Width(text) }
