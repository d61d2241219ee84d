package cli

import (
	"fmt"
	"slices"
	"testing"
)

// TestWarningsAboutOneFileAreBounded, those of others are not, and the rest is counted.
func TestWarningsAboutOneFileAreBounded(t *testing.T) {
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprintf("/p/a.json:%d: wrong", i))
	}
	got := Bounded(append(all, "/p/b.json: wrong", "no file: wrong"), "swarm doctor")
	want := append(slices.Clone(all[:maxOfOne]), "/p/b.json: wrong", "no file: wrong", "/p/a.json: 35 more; swarm doctor lists them")
	if !slices.Equal(got, want) {
		t.Errorf("it keeps %q, want %q", got, want)
	}
	if got := Bounded(all[:maxOfOne], "swarm doctor"); len(got) != maxOfOne {
		t.Errorf("of a few it keeps %q", got)
	}
}
