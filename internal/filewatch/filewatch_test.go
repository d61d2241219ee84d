package filewatch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheFirstLookIsNoChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := New(Options{Paths: func() []string { return []string{path, path + "b"} }, Changed: func(_ context.Context, path, what string) {
		t.Errorf("%s: %s", path, what)
	}})
	for range 3 {
		w.look(t.Context())
	}
}

func TestChangesAreReportedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var seen []string
	w := New(Options{Paths: func() []string { return []string{path} }, Changed: func(_ context.Context, _, what string) { seen = append(seen, what) }})
	w.look(t.Context())
	for _, text := range []string{"1", "22", ""} {
		err := os.Remove(path)
		if text != "" {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.look(t.Context())
		w.look(t.Context())
	}
	if !slices.Equal(seen, []string{Added, Changed, Removed}) {
		t.Errorf("seen %q", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(ctx)
}
