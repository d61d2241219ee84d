package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openTest(t *testing.T, path string) *history {
	t.Helper()
	h, err := openHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistoryIsReadByTheNextSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := openTest(t, path)
	for _, line := range []string{"one", "two\nlines", "two\nlines", " secret", "", "three"} {
		if err := h.add(line); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"one", "two\nlines", " secret", "three"}; !slices.Equal(h.lines, want) {
		t.Errorf("this session has %q", h.lines)
	}
	if want, got := []string{"one", "two\nlines", "three"}, openTest(t, path).lines; !slices.Equal(got, want) {
		t.Errorf("the next session has %q, want %q", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

func TestHistoryReturnsToTheDraft(t *testing.T) {
	h := openTest(t, "")
	h.remember("one")
	h.remember("two")
	var seen []string
	for text, ok := h.older("draft"); ok; text, ok = h.older(text) {
		seen = append(seen, text)
	}
	for text, ok := h.newer("one"); ok; text, ok = h.newer(text) {
		seen = append(seen, text)
	}
	if got := strings.Join(seen, " "); got != "two one two draft" {
		t.Errorf("seen: %s", got)
	}
}

func TestUnreadableHistoryIsSkipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte("\"one\"\nnot json\n\"two\"\n\"tor"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := openTest(t, path).lines; !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("read: %q", got)
	}
}
