package lifecycle

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestStackStopsInReverseAndNamesFailures(t *testing.T) {
	var l Stack
	var stopped []string
	broken := errors.New("broken")
	for _, name := range []string{"one", "two", "three"} {
		l.Push(name, func(context.Context) error {
			stopped = append(stopped, name)
			if name == "two" {
				return broken
			}
			return nil
		})
	}
	err := l.Stop(t.Context())
	if !slices.Equal(stopped, []string{"three", "two", "one"}) {
		t.Errorf("the steps were stopped as %v", stopped)
	}
	if !errors.Is(err, broken) || err.Error() != "stop two: broken" {
		t.Errorf("the error is %v", err)
	}
	if err := l.Stop(t.Context()); err != nil || len(stopped) != 3 {
		t.Errorf("a second stop does something: %v, %v", stopped, err)
	}
}
