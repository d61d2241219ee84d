package swarm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestALifecycleStopsBackwardsAndNamesWhatFailed(t *testing.T) {
	var l lifecycle
	var stopped []string
	broken := errors.New("broken")
	for _, name := range []string{"one", "two", "three"} {
		l.push(name, func(context.Context) error {
			stopped = append(stopped, name)
			if name == "two" {
				return broken
			}
			return nil
		})
	}
	err := l.stop(t.Context())
	if !slices.Equal(stopped, []string{"three", "two", "one"}) {
		t.Errorf("the steps were stopped as %v", stopped)
	}
	if !errors.Is(err, broken) || err.Error() != "stop two: broken" {
		t.Errorf("the error is %v", err)
	}
	if err := l.stop(t.Context()); err != nil || len(stopped) != 3 {
		t.Errorf("a second stop does something: %v, %v", stopped, err)
	}
}

// What uses a part of the session is stopped before that part: agents before the tools
// that they call, mail before the server that carries it, and the journal last.
func TestASessionStopsInOrder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, StateDir: dir, Home: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, step := range slices.Backward(s.stack.steps) {
		order = append(order, step.name)
	}
	want := []string{"the agents", "the tools", "the session's scope", "mail to other sessions", "the task lists", "the bus", "the journal"}
	if !slices.Equal(order, want) {
		t.Errorf("the order of the stops is\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
