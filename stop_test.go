package swarm

import (
	"slices"
	"strings"
	"testing"
)

// What uses a part of the session is stopped before that part: agents before the tools
// that they call, mail before the server that carries it, and the journal last.
func TestASessionStopsInOrder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, StateDir: dir, Home: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	order := s.stack.Names()
	want := []string{"the agents", "the tools", "the session's scope", "mail to other sessions", "the task lists", "the bus", "the journal"}
	if !slices.Equal(order, want) {
		t.Errorf("the order of the stops is\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
