package builtin

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/tooltest"
)

func TestEditReplacesTheOnlyOccurrence(t *testing.T) {
	k := newKit(t)
	k.file("a.go", "package a\n\nfunc f() int {\n\treturn 1\n}\n")
	k.ok("Read", in{"file_path": "a.go"})
	got := k.ok("Edit", in{"file_path": "a.go", "old_string": "return 1", "new_string": "x := 2\n\treturn x"})
	want := "Changed a.go. The first change with its surroundings:\n     1\tpackage a\n     2\t\n     3\tfunc f() int {\n     4\t\tx := 2\n     5\t\treturn x\n     6\t}"
	if got != want {
		t.Errorf("the report is %q, want %q", got, want)
	}
	if got := k.content("a.go"); got != "package a\n\nfunc f() int {\n\tx := 2\n\treturn x\n}\n" {
		t.Errorf("the file holds %q", got)
	}
}

func TestEditRefusals(t *testing.T) {
	k := newKit(t)
	k.file("unread", "x\n")
	k.file("twice", "a b a\n")
	k.file("latin1", "caf\xe9\n")
	for _, name := range []string{"twice", "latin1"} {
		k.ok("Read", in{"file_path": name})
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"unread", "x", "y", "Read it before editing"},
		{"twice", "a", "c", "occurs 2 times"},
		{"twice", "zzz", "c", "was not found"},
		{"twice", "a", "a", "are the same"},
		{"twice", "", "c", "exists and is not empty"},
		{"latin1", "caf", "tea", "not UTF-8"},
		{"nowhere", "a", "b", "there is no file"},
	} {
		before := "gone"
		if b, err := os.ReadFile(k.dir + "/" + c.name); err == nil {
			before = string(b)
		}
		got := k.refused("Edit", in{"file_path": c.name, "old_string": c.old, "new_string": c.new})
		if !strings.Contains(got, c.want) {
			t.Errorf("Edit(%s, %q) = %q, want it to say %q", c.name, c.old, got, c.want)
		}
		if before != "gone" && k.content(c.name) != before {
			t.Errorf("a refused edit changed %s", c.name)
		}
	}
	k.refused("Edit", in{"file_path": "twice", "old_string": "a"})
	got := k.ok("Edit", in{"file_path": "twice", "old_string": "a", "new_string": "c", "replace_all": true})
	if !strings.Contains(got, "2 replacements") || k.content("twice") != "c b c\n" {
		t.Errorf("replace_all: %q, %q", got, k.content("twice"))
	}
}

func TestEditWithNothingToReplaceCreates(t *testing.T) {
	k := newKit(t)
	k.ok("Edit", in{"file_path": "new/file", "old_string": "", "new_string": "hello\n"})
	k.ok("Edit", in{"file_path": "new/file", "old_string": "hello", "new_string": "bye"})
	if got := k.content("new/file"); got != "bye\n" {
		t.Errorf("the file holds %q", got)
	}
}

func TestEditOfAStaleFile(t *testing.T) {
	k := newKit(t)
	k.file("a", "one\ntwo\n")
	k.ok("Read", in{"file_path": "a"})
	k.file("a", "zero\none\ntwo\n")
	got := k.ok("Edit", in{"file_path": "a", "old_string": "two", "new_string": "2"})
	if !strings.Contains(got, "also been changed by someone else") || k.content("a") != "zero\none\n2\n" {
		t.Errorf("an exact, unique match: %q, %q", got, k.content("a"))
	}
	// It has not seen their line, so it must not write over it.
	if got := k.refused("Write", in{"file_path": "a", "content": "mine"}); !strings.Contains(got, "has changed") {
		t.Errorf("a write after it: %q", got)
	}
	k.ok("Read", in{"file_path": "a"})
	k.file("a", "one\none\n")
	if got := k.refused("Edit", in{"file_path": "a", "old_string": "one", "new_string": "1", "replace_all": true}); !strings.Contains(got, "2\tone") {
		t.Errorf("replace_all on a stale file: %q", got)
	}
	k.ok("Edit", in{"file_path": "a", "old_string": "one", "new_string": "1", "replace_all": true}) // shown by the refusal
}

func TestEditKeepsLineEnds(t *testing.T) {
	k := newKit(t)
	k.file("dos", "a\r\nb\r\nc\r\n")
	k.ok("Read", in{"file_path": "dos"})
	k.ok("Edit", in{"file_path": "dos", "old_string": "a\nb", "new_string": "a\nx\nb"})
	if got := k.content("dos"); got != "a\r\nx\r\nb\r\nc\r\n" {
		t.Errorf("the file holds %q", got)
	}
	k.file("mixed", "a\r\nb\nc\r\nd\n")
	k.ok("Read", in{"file_path": "mixed"})
	k.ok("Edit", in{"file_path": "mixed", "old_string": "b\nc", "new_string": "B\nC"})
	k.ok("Edit", in{"file_path": "mixed", "old_string": "a\nB", "new_string": "A\nb"})
	if got := k.content("mixed"); got != "A\r\nb\nC\r\nd\n" {
		t.Errorf("the file holds %q", got)
	}
	k.file("bom", "\ufefffirst\n")
	k.ok("Read", in{"file_path": "bom"})
	k.ok("Edit", in{"file_path": "bom", "old_string": "first", "new_string": "1st"})
	if got := k.content("bom"); got != "\ufeff1st\n" {
		t.Errorf("the file holds %q", got)
	}
}

// Law: no lost update. Every agent changes its own line of one file, all at
// once, and none reads again in between.
func TestNoUpdateIsLostAmongTenEditors(t *testing.T) {
	const agents, edits = 10, 50
	dir := t.TempDir()
	first := newKit(t, func(e *Env) { e.Dir = dir })
	var text strings.Builder
	for a := range agents {
		fmt.Fprintf(&text, "agent %c: 0.\n", 'a'+a)
	}
	first.file("shared", text.String())
	var all sync.WaitGroup
	for a := range agents {
		k := newKit(t, func(e *Env) { e.Dir = dir })
		k.ok("Read", in{"file_path": "shared"})
		all.Go(func() {
			for n := range edits {
				line := func(n int) string { return fmt.Sprintf("agent %c: %d.", 'a'+a, n) }
				edit := k.tool("Edit")
				res, err := edit.Run(t.Context(), tooltest.Call(t, edit, in{"file_path": "shared", "old_string": line(n), "new_string": line(n + 1)}))
				if err != nil || res.IsError {
					t.Errorf("edit %d of agent %d: %v, %v", n, a, res.Text, err)
					return
				}
			}
		})
	}
	all.Wait()
	for a := range agents {
		if want := fmt.Sprintf("agent %c: %d.\n", 'a'+a, edits); !strings.Contains(first.content("shared"), want) {
			t.Errorf("%q is missing in:\n%s", want, first.content("shared"))
		}
	}
}

// Law: no lost update. Every agent counts up the same line; a stale one is
// refused, sees the present content and tries again.
func TestNoUpdateIsLostOnOneLine(t *testing.T) {
	const agents, steps = 8, 12
	dir := t.TempDir()
	first := newKit(t, func(e *Env) { e.Dir = dir })
	first.file("count", "value 0.\n")
	var all sync.WaitGroup
	for range agents {
		k := newKit(t, func(e *Env) { e.Dir = dir })
		all.Go(func() {
			for range steps {
				if !countUp(t, k.tool("Read"), k.tool("Edit")) {
					return
				}
			}
		})
	}
	all.Wait()
	if got, want := first.content("count"), fmt.Sprintf("value %d.\n", agents*steps); got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
}

func countUp(t *testing.T, read, edit tool.Tool) bool {
	for {
		// The range differs from call to call, so "unchanged" is never said.
		res, err := read.Run(t.Context(), tooltest.Call(t, read, in{"file_path": "count"}))
		if err != nil || res.IsError {
			t.Errorf("read: %v, %v", res.Text, err)
			return false
		}
		var line, n int
		if _, err := fmt.Sscanf(res.Text, "%d value %d.", &line, &n); err != nil {
			continue // "unchanged", said once
		}
		res, err = edit.Run(t.Context(), tooltest.Call(t, edit, in{
			"file_path": "count", "old_string": fmt.Sprintf("value %d.", n), "new_string": fmt.Sprintf("value %d.", n+1),
		}))
		if err != nil {
			t.Errorf("edit: %v", err)
			return false
		}
		if !res.IsError {
			return true
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a b a", "a", "c", true, false)
	f.Add("one\ntwo\n", "one\ntwo", "2", false, false)
	f.Add("one\ntwo\n", "one\n", "", false, true)
	f.Add("äöü", "ö", "oe", false, true)
	f.Add("\r\n\r", "\r", "x", true, true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, old, fresh string, all, dos bool) {
		if old == "" || old == fresh || !utf8.ValidString(text+old+fresh) || strings.ContainsAny(text+old+fresh, "\x00\r") {
			t.Skip("not an edit of text")
		}
		want := text
		if n := strings.Count(text, old); n == 1 || n > 1 && all {
			want = strings.ReplaceAll(text, old, fresh)
		}
		if dos {
			text, want = strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
		}
		r := replace(text, old, fresh, all)
		if r.text != want && !(dos && !pureCRLF(text)) {
			t.Errorf("replace(%q, %q, %q, %v) = %q, want %q", text, old, fresh, all, r.text, want)
		}
		if r.done > 0 {
			end := strings.ReplaceAll(r.text[r.at:r.at+r.put], "\r\n", "\n")
			if end != fresh {
				t.Errorf("the place of the change shows %q, want %q", end, fresh)
			}
		}
		viaTool(t, dir, text, old, fresh, all, r.text)
	})
}

// viaTool does the same on a file.
func viaTool(t *testing.T, dir, text, old, fresh string, all bool, want string) {
	path := dir + "/f"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	real, err := nolink.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := &views{}
	seen.wrote(real, []byte(text))
	e := edit{path: path, real: real, old: old, new: fresh, all: all, seen: seen}
	if got, err := e.apply([]byte(text), true); err == nil && !bytes.Equal(got, []byte(want)) {
		t.Errorf("edit gave %q, want %q", got, want)
	}
	if e.count > 0 && len(e.report("f")) == 0 {
		t.Error("no report")
	}
}
