package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// terminalFile is a canvas on a file that stands for a terminal of so many columns.
type terminalFile struct {
	*canvas
	t       *testing.T
	columns int
	read    int
}

func newTerminalFile(t *testing.T, env map[string]string) *terminalFile {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	out := &terminalFile{t: t, canvas: newCanvas(f, func(key string) string { return env[key] }), columns: 80}
	out.size = func() (int, int, bool) { return out.columns, 24, true }
	out.resized(80, 24)
	return out
}

// draws writes what a renderer draws, and checks what reaches the terminal.
func (f *terminalFile) draws(p, want string) {
	f.t.Helper()
	if n, err := f.Write([]byte(p)); n != len(p) || err != nil {
		f.t.Fatalf("%d, %v", n, err)
	}
	raw, err := os.ReadFile(f.Name())
	if got := string(raw[f.read:]); err != nil || got != want {
		f.t.Errorf("%q reached the terminal as %q, want %q; %v", p, got, want, err)
	}
	f.read = len(raw)
}

// isStale returns whether the program is told the size of the terminal.
func (f *terminalFile) isStale() bool {
	select {
	case <-f.stale:
		return true
	default:
		return false
	}
}

// A terminal that wraps its lines again has the frame so many rows higher; one that cuts
// them has it where it was.
func TestNarrowerTerminalMovesTheFrame(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"any", map[string]string{"TERM": "xterm-256color"}, "\r\x1b[6A\x1b[J\n\n\n"},
		{"tmux in xterm", map[string]string{"XTERM_VERSION": "XTerm(379)", "TMUX": "/tmp/tmux"}, "\r\x1b[6A\x1b[J\n\n\n"},
		{"xterm", map[string]string{"XTERM_VERSION": "XTerm(379)"}, ""},
		{"screen", map[string]string{"STY": "1.pts"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newTerminalFile(t, c.env)
			first := "\r\x1b[J" + strings.Repeat("x", 41) + "\r\n\x1b[31m" + strings.Repeat("y", 40) + "\x1b[m\r\nshort\r\n› "
			f.draws(first, first)
			f.columns = 20
			f.resized(20, 24)
			f.draws("\r\x1b[3A\x1b[J› ", c.want+"\r\x1b[3A\x1b[J› ")
			f.columns = 80
			f.resized(80, 24)
			f.draws("!", "!")
		})
	}
}

// Where the terminal has another width than the renderer draws for, nothing is drawn
// until the renderer draws a whole frame for the right one.
func TestAFrameIsDrawnForTheWidthOfTheMoment(t *testing.T) {
	f := newTerminalFile(t, nil)
	f.draws("\x1b[?2026$p", "\x1b[?2026$p") // asks what the terminal can do
	whole := "\r\x1b[J" + strings.Repeat("x", 60) + "\r\n› "
	f.draws(whole, whole)
	f.draws("a", "a")
	f.columns = 40
	if f.draws("b", ""); !f.isStale() {
		t.Error("the program does not hear of the new width")
	}
	f.draws("\r\x1b[A\x1b[J"+strings.Repeat("x", 40)+"\r\n› ab", "") // it has the width, but has not said so
	f.resized(40, 24)
	if f.draws("\bc", ""); !f.isStale() {
		t.Error("the frame that was dropped is not drawn again")
	}
	again := "\r\x1b[A\x1b[J" + strings.Repeat("x", 40) + "\r\n› ac"
	f.draws(again, "\r\x1b[2A\x1b[J\n"+again)
	f.draws("d", "d")
}

// Text above the frame comes with the next whole frame.
func TestTextIsPrintedAboveAWholeFrame(t *testing.T) {
	f := newTerminalFile(t, nil)
	f.print([]string{"one", "two"})
	f.draws("\r\x1b[J\r\n› ", "\r\x1b[Jone\r\ntwo\r\n\r\x1b[J\r\n› ")
	f.isStale()
	f.print([]string{"three"})
	if !f.isStale() {
		t.Error("no whole frame is asked for")
	}
	f.draws("a", "")
	f.draws("\r\x1b[A\x1b[J\r\n› ab", "\r\x1b[A\x1b[Jthree\r\n\n\r\x1b[A\x1b[J\r\n› ab")
	f.print([]string{"four"})
	f.draws("\r\n\x1b[J\x1b[?2004l", "\r\x1b[A\x1b[Jfour\r\n\n\r\n\x1b[J\x1b[?2004l") // the renderer ends
}
