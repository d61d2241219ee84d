package main

import (
	"testing"
)

// The facts of a text may come before it is known how many there are.
func TestOwnTextsAreKnownWheneverTheirFactsCome(t *testing.T) {
	o := newTypedTexts()
	o.begin("to all")
	for range 2 {
		if !o.has("to all") {
			t.Error("a fact that came early is not known")
		}
	}
	o.end("to all", 3)
	if !o.has("to all") {
		t.Error("a fact that came late is not known")
	}
	if o.has("to all") {
		t.Error("what was said at another terminal is taken for one's own")
	}
	o.begin("refused")
	o.end("refused", 0)
	if o.has("refused") || len(o.n) != 0 {
		t.Errorf("what was refused is waited for: %v", o.n)
	}
}
