package rulefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/defs"
)

// is returns a match for one rule in any list.
func is(text string) func(list, rule string) bool {
	return func(_, rule string) bool { return rule == text }
}

func TestOtherBytesStay(t *testing.T) {
	for _, x := range []struct{ name, before, after, line string }{
		{"no file", "", "{\n  \"permissions\": {\n    \"allow\": [\n      \"B(x)\"\n    ]\n  }\n}\n", "4"},
		{"nothing", "{}", `{"permissions": {"allow": ["B(x)"]}}`, "1"},
		{"other keys", "{\n\t\"z\": 1.50,\n\t\"a\": [ ]\n}", "{\n\t\"z\": 1.50,\n\t\"a\": [ ],\n\t\"permissions\": {\"allow\": [\"B(x)\"]}\n}", "4"},
		{"other lists", "{\"permissions\": {\n  \"deny\": [\"A\"]\n}}\n", "{\"permissions\": {\n  \"deny\": [\"A\"],\n  \"allow\": [\"B(x)\"]\n}}\n", "3"},
		{"one line", `{"permissions":{"allow":["A" ] }, "permissions": 7}`, `{"permissions":{"allow":["A", "B(x)" ] }, "permissions": 7}`, "1"},
		{"lines", "{\"permissions\": {\"allow\": [\r\n    \"A\"\r\n  ]}}", "{\"permissions\": {\"allow\": [\r\n    \"A\",\r\n    \"B(x)\"\r\n  ]}}", "3"},
		{"mark", "\xEF\xBB\xBF{\"permissions\": {\"allow\": [ ]}}", "\xEF\xBB\xBF{\"permissions\": {\"allow\": [\"B(x)\"]}}", "1"},
	} {
		f := File{Dir: t.TempDir(), Name: ".claude/settings.json"}
		if x.before != "" {
			write(t, f.Path(), x.before)
		}
		line, err := f.Add("allow", "B(x)")
		if got := content(t, f); err != nil || got != x.after || fmt.Sprint(line) != x.line {
			t.Errorf("%s: %q at line %d, %v; want %q at line %s", x.name, got, line, err, x.after, x.line)
		}
	}
	for _, x := range []struct{ before, after string }{
		{`{"permissions": {"allow": ["A"]}}`, `{"permissions": {"allow": []}}`},
		{`{"permissions": {"allow": [ "A", "A" ], "deny": ["B", "A"]}}`, `{"permissions": {"allow": [], "deny": ["B"]}}`},
		{"{\"permissions\": {\"ask\": [\n  \"A\",\n  \"B\",\n  \"A\",\n  \"A\",\n  7\n]}}", "{\"permissions\": {\"ask\": [\n  \"B\",\n  7\n]}}"},
		{`{"x": ["A"], "permissions": {"additionalDirectories": ["B"]}}`, `{"x": ["A"], "permissions": {"additionalDirectories": ["B"]}}`},
	} {
		f := File{Dir: t.TempDir(), Name: ".claude/settings.json"}
		write(t, f.Path(), x.before)
		if _, err := f.Remove(is("A")); err != nil || content(t, f) != x.after {
			t.Errorf("%q became %q, %v; want %q", x.before, content(t, f), err, x.after)
		}
	}
}

func TestAFileThatCannotBeReadIsNotChanged(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"{\n// a comment\n}", "correct it first: line 2, column 1"},
		{"{\"permissions\": {\"allow\": [\"A\",]}}", "correct it first: line 1, column 32"},
		{"[]", "it is not an object"},
		{"{} {}", "more behind the end"},
		{"{\"a\": \"\xe9\"}", "it is not UTF-8"},
		{`{"permissions": []}`, "permissions must be an object"},
		{`{"permissions": {"allow": "A"}}`, "permissions.allow must be a list"},
		{`{"a": ` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "nested too deep"},
		{`{"a": "` + strings.Repeat("x", defs.MaxFileSize) + `"}`, "larger than"},
	} {
		f := File{Dir: t.TempDir(), Name: "settings.json"}
		write(t, f.Path(), x.text)
		if _, err := f.Add("allow", "A"); err == nil || !strings.Contains(err.Error(), x.want) || !strings.HasPrefix(err.Error(), f.Path()+" ") {
			t.Errorf("%.40s: %v", x.text, err)
		}
		if content(t, f) != x.text {
			t.Errorf("%.40s was changed", x.text)
		}
	}
	f := File{Dir: t.TempDir(), Name: "settings.json"}
	if err := os.Mkdir(f.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add("allow", "A"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

func TestNoLinkLeadsOut(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "settings.json")
	write(t, outside, "{}")
	for name, target := range map[string]string{"settings.json": outside, "gone.json": outside + "x", ".claude": filepath.Dir(outside), "loop.json": "loop.json"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"settings.json", "gone.json", "loop.json", ".claude/settings.json", ".claude/new.json"} {
		if _, err := (File{dir, name}).Add("allow", "A"); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "{}" {
		t.Errorf("the file outside holds %q, %v", raw, err)
	}
	inside := File{Dir: dir, Name: "shared.json"}
	write(t, inside.Path(), "{}")
	if err := os.Symlink("shared.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := (File{dir, "link.json"}).Add("allow", "A"); err != nil || !strings.Contains(content(t, inside), `"A"`) {
		t.Errorf("a link inside: %q, %v", content(t, inside), err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

func TestConcurrentChangesAddUp(t *testing.T) {
	f := File{Dir: t.TempDir(), Name: ".claude/settings.local.json"}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := f.Add("allow", fmt.Sprintf("Bash(%d)", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(content(t, f), "Bash("); n != 20 {
		t.Errorf("%d of 20 rules are there", n)
	}
	entries, err := os.ReadDir(filepath.Dir(f.Path()))
	if err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

func TestTheModeStays(t *testing.T) {
	f := File{Dir: t.TempDir(), Name: "settings.json"}
	write(t, f.Path(), "{}")
	if err := os.Chmod(f.Path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add("deny", "A"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(f.Path()); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

// Whatever a file holds, what was added can be removed again, and what is not JSON stays.
func FuzzAdd(f *testing.F) {
	for _, s := range []string{"", "{}", `{"permissions": {"allow": ["A"]}}`, "{\"a\":\n[1,\t{}]}", `{"permissions": {}}`, "\xEF\xBB\xBF{}", "{,}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, at, err := add([]byte(text), "allow", "Bash(new)")
		if err != nil {
			return
		}
		if !strings.HasPrefix(string(out[at:]), `"Bash(new)"`) {
			t.Errorf("%q: the rule is not at %d", out, at)
		}
		if _, err := parse(out); err != nil {
			t.Errorf("%q became %q: %v", text, out, err)
		}
		if _, n, err := remove(out, is("Bash(new)")); err != nil || n == 0 {
			t.Errorf("%q: %d removed, %v", out, n, err)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, f File) string {
	t.Helper()
	raw, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
