package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A terminal that breaks lines anew has the frame so many rows higher; one that cuts
// them has it where it was.
func TestNarrowerTerminalMovesTheFrame(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"any", map[string]string{"TERM": "xterm-256color"}, "\x1b[3A\x1b[J› "},
		{"tmux in xterm", map[string]string{"XTERM_VERSION": "XTerm(379)", "TMUX": "/tmp/tmux"}, "\x1b[3A\x1b[J› "},
		{"xterm", map[string]string{"XTERM_VERSION": "XTerm(379)"}, "\x1b[J› "},
		{"screen", map[string]string{"STY": "1.pts"}, "\x1b[J› "},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			out := newCanvas(f, func(key string) string { return c.env[key] })
			out.setNext([]string{"", strings.Repeat("x", 41), "\x1b[31m" + strings.Repeat("y", 40) + "\x1b[0m", "short"})
			draw(t, out, "\x1b[?25l› ")
			<-out.drawn
			out.setNext([]string{""}) // is not drawn before the terminal changes again
			if waits, moves := out.resized(30), strings.HasPrefix(c.want, "\x1b[3"); waits != moves {
				t.Errorf("printing waits: %v, the frame moves: %v", waits, moves)
			}
			out.resized(20)
			before := size(t, f)
			draw(t, out, "\x1b[J› ")
			raw, err := os.ReadFile(f.Name())
			if got := string(raw[before:]); err != nil || got != c.want {
				t.Errorf("drawn %q, want %q; %v", got, c.want, err)
			}
			if out.resized(80) {
				t.Error("a wider terminal moves the frame")
			}
		})
	}
}

// A frame that is drawn before the program hears of the new width erases all of the one
// before, and is itself erased whole.
func TestAFrameIsDrawnForTheWidthOfTheMoment(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, columns := newCanvas(f, func(string) string { return "" }), 80
	out.width = func() (int, bool) { return columns, true }
	out.resized(80)
	out.setNext([]string{strings.Repeat("x", 60)})
	draw(t, out, "1")
	columns = 30
	draw(t, out, "2")
	out.setNext([]string{strings.Repeat("x", 30)})
	draw(t, out, "3")
	out.resized(30)
	draw(t, out, "4")
	raw, err := os.ReadFile(f.Name())
	if want := "1\x1b[1A2\x1b[1A34"; err != nil || string(raw) != want {
		t.Errorf("drawn %q, want %q; %v", raw, want, err)
	}
}

func draw(t *testing.T, c *canvas, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
