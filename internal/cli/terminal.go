package cli

import (
	"hash/fnv"
	"io"

	"github.com/actorswarm/swarm/internal/term"
)

// Screen describes what an output can show.
type Screen struct {
	Out   io.Writer
	Color bool
}

// PlainWidth is the width if it is not known.
const PlainWidth = 80

func NewScreen(out io.Writer, env func(string) string) Screen {
	_, terminal := term.Columns(out)
	return Screen{Out: out, Color: terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// Width returns the current width, which changes when the user resizes the window.
func (s Screen) Width() int {
	if n, ok := term.Columns(s.Out); ok && n > 0 {
		return n
	}
	return PlainWidth
}

// The colours that definitions can name, and a few that people use besides.
var (
	colorCodes = map[string]string{
		"red": "31", "green": "32", "yellow": "33", "blue": "34", "purple": "35", "magenta": "35", "cyan": "36",
		"orange": "38;5;208", "pink": "38;5;205", "gray": "90", "gold": "38;5;220", "indigo": "38;5;62",
	}
	palette = [...]string{"36", "32", "35", "33", "34", "38;5;208", "38;5;205", "38;5;109", "38;5;143", "38;5;139"}
)

// Paint colours an agent's name with its own colour, or else with one derived from the
// name.
func (s Screen) Paint(name, color string) string {
	if !s.Color {
		return name
	}
	code, ok := colorCodes[color]
	if !ok {
		h := fnv.New32a()
		io.WriteString(h, name) // a hash returns no error
		code = palette[h.Sum32()%uint32(len(palette))]
	}
	return "\x1b[" + code + "m" + name + "\x1b[0m"
}
