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

// maxHistory is how many lines are read again.
const maxHistory = 1000

// history is what was typed, oldest first, with the place that the user looks
// at. Sessions of one project append to one file.
type history struct {
	path   string
	lines  []string
	at     int            // what is shown; len(lines) is the draft
	edited map[int]string // what was made of lines that were looked at, and the draft
}

// openHistory reads what was typed before. A line that cannot be read is
// passed over.
func openHistory(path string) (*history, error) {
	h := &history{path: path, edited: map[int]string{}}
	if path == "" {
		return h, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("read what was typed before: %w", err)
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
	h.rest()
	return h, nil
}

func (h *history) push(text string) bool {
	if n := len(h.lines); n > 0 && h.lines[n-1] == text {
		return false
	}
	h.lines = append(h.lines, text)
	return true
}

// keep remembers a line for this session only.
func (h *history) keep(text string) {
	if strings.TrimSpace(text) != "" {
		h.push(text)
	}
	h.rest()
}

// add remembers a line for later sessions too, unless it begins with a blank.
func (h *history) add(text string) error {
	fresh := strings.TrimSpace(text) != "" && h.push(text)
	h.rest()
	if !fresh || h.path == "" || text[0] == ' ' {
		return nil
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep what was typed: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Close())
}

// older returns the line before the one that is shown. What was made of that
// one is put aside.
func (h *history) older(shown string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	return h.move(-1, shown), true
}

// newer returns the line after the one that is shown, at last the draft.
func (h *history) newer(shown string) (string, bool) {
	if h.at == len(h.lines) {
		return "", false
	}
	return h.move(1, shown), true
}

func (h *history) move(by int, shown string) string {
	h.edited[h.at] = shown
	h.at += by
	if text, ok := h.edited[h.at]; ok {
		return text
	}
	return h.lines[h.at]
}

// rest ends looking back.
func (h *history) rest() {
	h.at = len(h.lines)
	clear(h.edited)
}
