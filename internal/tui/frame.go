package tui

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

// tabStop is the distance of tab stops, and manyCells more rows and columns than a
// terminal has.
const (
	tabStop   = 8
	manyCells = 1 << 14
)

// frame is what a renderer has drawn: the columns of each row, and the cursor. It is
// computed from what the renderer writes, since the view that it draws is not always the
// last one it was given.
type frame struct {
	rows        []int
	row, column int // of the cursor
	letter      int // width of the last letter
}

// rowsAbove returns the number of rows above the cursor on a terminal of so many columns
// that wraps its lines again.
func (f frame) rowsAbove(columns int) int {
	n := f.row + f.column/columns
	for _, width := range f.rows[:min(f.row, len(f.rows))] {
		n += max(width-1, 0) / columns
	}
	return n
}

// clone returns a copy that shares nothing with f.
func (f frame) clone() frame {
	f.rows = slices.Clone(f.rows)
	return f
}

// draw follows what the renderer writes.
func (f *frame) draw(p []byte) {
	parser := ansi.NewParser()
	for state := byte(0); len(p) > 0; {
		seq, width, n, next := ansi.DecodeSequence(p, state, parser)
		switch {
		case width > 0:
			f.letter = width
			f.put(width)
		case len(seq) == 1:
			f.control(seq[0])
		case string(seq) == ansi.ReverseIndex:
			f.row--
		case len(seq) > 1 && seq[1] == '[':
			f.command(parser)
		}
		f.row, f.column = min(max(f.row, 0), manyCells), min(max(f.column, 0), manyCells)
		state, p = next, p[n:]
	}
}

// put writes so many columns at the cursor.
func (f *frame) put(columns int) {
	f.column = min(f.column+columns, manyCells)
	*f.width() = max(*f.width(), f.column)
}

// width returns the columns of the cursor's row.
func (f *frame) width() *int {
	if missing := f.row + 1 - len(f.rows); missing > 0 {
		f.rows = append(f.rows, make([]int, missing)...)
	}
	return &f.rows[f.row]
}

func (f *frame) control(c byte) {
	switch c {
	case '\r':
		f.column = 0
	case '\n':
		f.row++
	case '\b':
		f.column--
	case '\t':
		f.column = (f.column/tabStop + 1) * tabStop
	}
}

// command follows a control sequence.
func (f *frame) command(parser *ansi.Parser) {
	command := ansi.Cmd(parser.Command())
	if command.Prefix() != 0 || command.Intermediate() != 0 {
		return
	}
	n := count(parser)
	switch command.Final() {
	case 'A':
		f.row -= n
	case 'B':
		f.row += n
	case 'C':
		f.column += n
	case 'D':
		f.column -= n
	case 'G', '`':
		f.column = n - 1
	case 'I':
		f.column = (f.column/tabStop + n) * tabStop
	case 'Z':
		f.column = ((f.column+tabStop-1)/tabStop - n) * tabStop
	default:
		f.change(command.Final(), parser)
	}
}

// change follows a control sequence that changes what is drawn.
func (f *frame) change(final byte, parser *ansi.Parser) {
	n := count(parser)
	erase, _ := parser.Param(0, 0)
	width := f.width()
	switch {
	case final == 'b':
		f.put(n * f.letter)
	case final == '@':
		*width = min(*width+n, manyCells)
	case final == 'P':
		*width = max(*width-n, 0)
	case final == 'K' && erase == 0:
		*width = min(*width, f.column)
	case final == 'K' && erase == 2:
		*width = 0
	case final == 'J' && erase == 0:
		*width = min(*width, f.column)
		f.rows = f.rows[:f.row+1]
	}
}

// count returns the first parameter of a control sequence, as a number of cells.
func count(parser *ansi.Parser) int {
	n, _ := parser.Param(0, 1)
	return min(max(n, 1), manyCells)
}
