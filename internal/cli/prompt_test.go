package cli

import (
	"strings"
	"testing"
)

// TestOnlyYesOrNoIsAnAnswer: everything else is asked again, three times in all.
func TestOnlyYesOrNoIsAnAnswer(t *testing.T) {
	for answers, want := range map[string]struct {
		yes   bool
		asked int
	}{
		"y\n": {true, 1}, "Yes\n": {true, 1}, "n\n": {false, 1}, "\n": {false, 1}, "": {false, 1}, "y": {true, 1},
		"maybe\ny\n": {true, 2}, "maybe\nwhat\nno\n": {false, 3}, "maybe\nwhat\nyeah\ny\n": {false, 3}, "maybe": {false, 2},
	} {
		var out strings.Builder
		c := Console{In: strings.NewReader(answers), Err: &out}
		yes, err := c.confirm("go on?")
		if err != nil || yes != want.yes || strings.Count(out.String(), "[y/N]") != want.asked {
			t.Errorf("%q: %t, %v, after\n%s", answers, yes, err, &out)
		}
		if counts := strings.Contains(out.String(), "counts as no"); counts != (answers == "maybe\nwhat\nyeah\ny\n") {
			t.Errorf("%q: it is said that it counts as no: %t", answers, counts)
		}
	}
}
