package tui

import (
	"slices"
	"testing"
)

func TestAFrameIsWhatHasBeenDrawn(t *testing.T) {
	for _, c := range []struct {
		drawn       string
		rows        []int
		row, column int
	}{
		{"abc\r\n\x1b[1mde\x1b[m", []int{3, 2}, 1, 2},
		{"日本\r\nx\x1b[4b", []int{4, 5}, 1, 5},
		{"abcdef\x1b[3D\x1b[K", []int{3}, 0, 3},
		{"abc\r\nde\r\nf\r\x1b[2A\x1b[C\x1b[J", []int{1}, 0, 1},
		{"abc\x1b[2@\x1b[P\r\n\n", []int{4}, 2, 0},
		{"a\tb\x1b[2Z", []int{9}, 0, 0},
		{"\x1b[3Cab\b\b\x1bM", []int{5}, 0, 3},
		{"a\x1b[2I\x1b[5G", []int{1}, 0, 4},
		{"\x1b[2 q\x1b[?25l\x1b[>4;2m\x1b]8;;https://a.example\x1b\\ab\x1b]8;;\x1b\\", []int{2}, 0, 2},
		{"a\x1b[2B\x1b[9Ab", []int{2}, 0, 2},
	} {
		var f frame
		f.draw([]byte(c.drawn))
		if !slices.Equal(f.rows, c.rows) || f.row != c.row || f.column != c.column {
			t.Errorf("%q: rows %v, cursor %d, %d; want %v, %d, %d", c.drawn, f.rows, f.row, f.column, c.rows, c.row, c.column)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x1b[J\x1b[999999999A\x1b[-1b"))
	f.Fuzz(func(t *testing.T, p []byte) {
		var f frame
		f.draw(p)
		if f.row < 0 || f.column < 0 || f.rowsAbove(1) < 0 {
			t.Errorf("%q: cursor %d, %d", p, f.row, f.column)
		}
	})
}
