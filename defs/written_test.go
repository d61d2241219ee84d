package defs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsAreGivenAsWritten(t *testing.T) {
	got, err := ReadFields([]byte("---\nname: a\nmaxTurns: 3 # few\ndisallowed-tools: [Bash]\nodd: {x: 1}\nname: b\n---\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{
		{Key: "name", Name: "name", Line: 2, Value: rawJSON(`"a"`), Text: "a", Single: true},
		{Key: "maxTurns", Name: "maxTurns", Line: 3, Value: rawJSON(`3`), Text: "3", Single: true, Plain: true, Comment: "# few"},
		{Key: "disallowed-tools", Name: "disallowedTools", Line: 4, Value: rawJSON(`["Bash"]`)},
		{Key: "odd", Line: 5, Value: rawJSON(`{"x":1}`)},
		{Key: "name", Name: "name", Line: 6, Value: rawJSON(`"b"`), Text: "b", Single: true, Unread: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadFields([]byte("# Notes\n"), ""); !errors.Is(err, ErrNotAgent) {
		t.Errorf("documentation gives %v", err)
	}
}

func TestFieldsOfJSONHaveLines(t *testing.T) {
	for _, text := range []string{"{\n\"a\": {\n\"tools\": \"Read\"}}", "{\"agents\": {\n\"a\": {\n\"tools\": \"Read\"}}}"} {
		got, err := ReadFields([]byte(text), "a")
		if err != nil || len(got) != 1 || got[0].Name != "tools" || got[0].Line != 3 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if _, err := ReadFields([]byte(text), "b"); err == nil {
			t.Errorf("%s: an agent that is not there has fields", text)
		}
	}
}

func TestWrittenReadsTheSourceAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(path, []byte("---\nname: a\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	builtins, _ := Builtins()
	for _, d := range append(builtins, Definition{Name: "a", Path: path, Source: User}, Definition{Name: "a", Path: FlagPath, Source: Flag}) {
		if fields, err := d.Written(`{"a": {"name": "x"}}`); err != nil || fields[0].Name != "name" {
			t.Errorf("%s: %+v, %v", d.Path, fields, err)
		}
	}
	if _, err := (Definition{Path: path + "x", Source: User}).Written(""); err == nil {
		t.Error("a file that is gone has fields")
	}
}
