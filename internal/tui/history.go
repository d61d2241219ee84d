package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// maxHistory is the number of lines that are read from the file.
const maxHistory = 1000

// history holds the typed lines, oldest first, and which of them is shown. Sessions of
// one project append to one file.
type history struct {
	path     string
	lines    []string
	position int            // index of the line shown; len(lines) is the draft
	edited   map[int]string // lines with unsent changes, and the draft
}

// openHistory reads the lines of earlier sessions. It skips lines that cannot be read.
func openHistory(path string) (*history, error) {
	h := &history{path: path, edited: map[int]string{}}
	if path == "" {
		return h, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("read the history: %w", err)
	}
	for line := range bytes.Lines(raw) {
		var text string
		if json.Unmarshal(line, &text) == nil && text != "" {
			h.push(text)
		}
	}
	if n := len(h.lines) - maxHistory; n > 0 {
		h.lines = h.lines[n:]
	}
	h.reset()
	return h, nil
}

func (h *history) push(text string) bool {
	if n := len(h.lines); n > 0 && h.lines[n-1] == text {
		return false
	}
	h.lines = append(h.lines, text)
	return true
}

// remember adds a line for this session only.
func (h *history) remember(text string) {
	if strings.TrimSpace(text) != "" {
		h.push(text)
	}
	h.reset()
}

// add adds a line and appends it to the file, unless the line begins with a blank.
func (h *history) add(text string) error {
	fresh := strings.TrimSpace(text) != "" && h.push(text)
	h.reset()
	if !fresh || h.path == "" || text[0] == ' ' {
		return nil
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("append to the history: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Close())
}

// older returns the line before the one shown, whose changes it keeps.
func (h *history) older(shown string) (string, bool) {
	if h.position == 0 {
		return "", false
	}
	return h.move(-1, shown), true
}

// newer returns the line after the one shown, at last the draft.
func (h *history) newer(shown string) (string, bool) {
	if h.position == len(h.lines) {
		return "", false
	}
	return h.move(1, shown), true
}

func (h *history) move(by int, shown string) string {
	h.edited[h.position] = shown
	h.position += by
	if text, ok := h.edited[h.position]; ok {
		return text
	}
	return h.lines[h.position]
}

// reset returns to the draft and drops unsent changes.
func (h *history) reset() {
	h.position = len(h.lines)
	clear(h.edited)
}
