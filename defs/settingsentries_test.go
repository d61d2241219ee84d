package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// entriesOf reads settings from text and returns the entries of permissions, one a line.
func entriesOf(t *testing.T, text string) string {
	t.Helper()
	read, _, err := ReadSettings(Options{Settings: text, Cwd: t.TempDir()})
	if err != nil || len(read) != 1 {
		t.Fatalf("%d files, %v", len(read), err)
	}
	entries, err := read[0].Entries("permissions")
	var lines []string
	for _, e := range entries {
		lines = append(lines, fmt.Sprintf("%d %s %s", e.Line, e.Key, e.Value))
	}
	if err != nil {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func TestEntriesHaveTheirLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"permissions": {"deny": ["A",` + "\n" + `"B"], "defaultMode": "plan"}}`, "1 deny \"A\"\n2 deny \"B\"\n2 defaultMode \"plan\""},
		{`{"permissions": {"deny": ["A"]}, "permissions": {"deny": ["B"], "deny": ["C"]}}`, "1 deny \"A\"\n1 deny \"B\"\n1 deny \"C\""},
		{`{"permissions": {"deny": [7, {"a": 1}]}}`, "1 deny 7\n1 deny {\"a\":1}"},
		{`{"permissions": []}`, "--settings:1: permissions must be an object, not a list"},
		{`{}`, ""},
	} {
		if got := entriesOf(t, c.text); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestEntriesOfABrokenFileAreWhatCanBeRecognized(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\"permissions\": {\"deny\": [\"A\",\n\"B\",]}}", "1 deny \"A\"\n2 deny \"B\""},
		{"{\"permissions\": {\"deny\": [\"A\" \"B\"], // \"no\"\n\"ask\": [\"C\"", "1 deny \"A\"\n1 deny \"B\"\n2 ask \"C\""},
		{"{\"a\": {, \"permissions\": {\"allow\": [\"A\"], \"deny\": [\"B \\\" C\n\"]", "1 allow \"A\"\n1 deny \"B \\\" C\"\n2 deny \"]\""},
		{"{/* \"x\": [\"y\"]\n */ \"deny\": [\"A\"], \"other\": \"B\"", "2 deny \"A\""},
		{"{", ""},
	} {
		if got := entriesOf(t, c.text); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestManagedSettingsThatCannotBeReadAreAProblem(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "managed-settings.d"), "a file in place of a directory")
	_, problems, err := ReadSettings(Options{ManagedDir: dir})
	if err != nil || len(problems) != 1 || problems[0].Source != Managed || !problems[0].Fatal {
		t.Errorf("problems %v, %v", problems, err)
	}
}

// Whatever a broken file holds, every rule that stands in a list of its own line before
// the mistake is found, and nothing panics.
func FuzzSalvage(f *testing.F) {
	for _, s := range []string{"", "]", `{"a": `, `"x`, "/*", `\`, "\"\\", "{\"deny\": [\"q\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		found := false
		for _, e := range salvage(`{"permissions": {"deny": ["Bash(rm:*)"]}}` + rest) {
			var text string
			if err := json.Unmarshal(e.Value, &text); err != nil || e.Line < 1 {
				t.Errorf("the entry %+v: %v", e, err)
			}
			found = found || e.Key == "deny" && text == "Bash(rm:*)"
		}
		if !found {
			t.Error("the rule is missing")
		}
	})
}

// A pipe in place of a file would hold up the start for good.
func TestAPipeIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	if src, err := ReadFile(path); !errors.Is(err, ErrNotRegular) {
		t.Errorf("reading a pipe gives %q, %v", src, err)
	}
}
