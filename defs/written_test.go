package defs

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsAreGivenAsWritten(t *testing.T) {
	got, err := ReadFields([]byte("---\nname: a\ndescription: so: it is\nmaxTurns: 3 # few\ndisallowed-tools: [Bash]\nodd: {x: 1}\nname: b\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{
		{Key: "name", Name: "name", Line: 2, Value: rawJSON(`"a"`), Text: "a", Single: true},
		{Key: "description", Name: "description", Line: 3, Value: rawJSON(`"so: it is"`), Text: "so: it is", Single: true, Repaired: true},
		{Key: "maxTurns", Name: "maxTurns", Line: 4, Value: rawJSON(`3`), Text: "3", Single: true, Plain: true, Comment: "# few"},
		{Key: "disallowed-tools", Name: "disallowedTools", Line: 5, Value: rawJSON(`["Bash"]`)},
		{Key: "odd", Line: 6, Value: rawJSON(`{"x":1}`)},
		{Key: "name", Name: "name", Line: 7, Value: rawJSON(`"b"`), Text: "b", Single: true, Unread: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadFields([]byte("# Notes\n")); !errors.Is(err, ErrNotAgent) {
		t.Errorf("documentation gives %v", err)
	}
}
