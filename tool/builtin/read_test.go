package builtin

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm/tool/tooltest"
)

func TestReadNumbersLines(t *testing.T) {
	k := newKit(t)
	path := k.file("a.txt", "one\r\ntwo\n\nfour")
	want := "     1\tone\n     2\ttwo\n     3\t\n     4\tfour"
	for _, name := range []string{path, "a.txt", "./a.txt", "sub/../a.txt"} {
		k := newKit(t, func(e *Env) { e.Dir = k.dir })
		if diff := cmp.Diff(want, k.ok("Read", in{"file_path": name})); diff != "" {
			t.Errorf("Read(%s) (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadShowsARange(t *testing.T) {
	k := newKit(t)
	k.file("a.txt", "1\n2\n3\n4\n5\n")
	want := "     2\t2\n     3\t3\n\n(Lines 2-3 of 5.)"
	if got := k.ok("Read", in{"file_path": "a.txt", "offset": 2, "limit": 2}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := k.refused("Read", in{"file_path": "a.txt", "offset": 9}); !strings.Contains(got, "has 5 lines") {
		t.Errorf("a line past the end: %q", got)
	}
	k.file("empty", "")
	if got := k.ok("Read", in{"file_path": "empty"}); !strings.Contains(got, "is empty") {
		t.Errorf("an empty file: %q", got)
	}
}

func TestReadOfALongFileIsPartialAndGoesOn(t *testing.T) {
	k := newKit(t)
	const lines = 20_000
	var text strings.Builder
	for n := range lines {
		fmt.Fprintf(&text, "line %d of many\n", n+1)
	}
	k.file("long.txt", text.String())
	next, pages := 1, 0
	for next <= lines {
		pages++
		got := k.ok("Read", in{"file_path": "long.txt", "offset": next})
		if len(got) > pageBytes+500 {
			t.Fatalf("page %d has %d bytes, more than %d", pages, len(got), pageBytes)
		}
		var from, to, total int
		i := strings.LastIndex(got, "PARTIAL view: ")
		if i < 0 {
			break
		}
		if _, err := fmt.Sscanf(got[i:], "PARTIAL view: lines %d-%d of %d", &from, &to, &total); err != nil {
			t.Fatalf("page %d ends in %q: %v", pages, got[i:], err)
		}
		if from != next || total != lines {
			t.Fatalf("page %d says lines %d-%d of %d, want from %d of %d", pages, from, to, total, next, lines)
		}
		next = to + 1
	}
	if pages < 3 {
		t.Errorf("%d pages for %d bytes", pages, text.Len())
	}
	k.ok("Write", in{"file_path": "long.txt", "content": "seen all of it"})
}

func TestReadCutsLongLines(t *testing.T) {
	k := newKit(t)
	k.file("wide", strings.Repeat("ä", 5000)+"\nnext\n"+strings.Repeat("x", 300_000))
	got := k.ok("Read", in{"file_path": "wide"})
	first, rest, _ := strings.Cut(got, "\n")
	if strings.Count(first, "ä") != maxLineRunes || !strings.Contains(first, "line cut") {
		t.Errorf("the long line is shown as %d bytes: …%q", len(first), first[len(first)-60:])
	}
	if !strings.HasPrefix(rest, "     2\tnext\n     3\txxx") || len(rest) > 2*maxLineRunes {
		t.Errorf("after it: %.40q, %d bytes", rest, len(rest))
	}
}

func TestReadRefusesWhatIsNoText(t *testing.T) {
	k := newKit(t)
	for name, c := range map[string]struct{ content, want string }{
		"a.png": {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png (16 bytes), which cannot be shown in a text result; images are not supported"},
		"a.pdf": {"%PDF-1.7\nstuff", "application/pdf"},
		"a.bin": {"abc\x00def", "application/octet-stream (7 bytes)"},
		"u16":   {"\xff\xfea\x00b\x00", "UTF-16"},
	} {
		k.file(name, c.content)
		if got := k.refused("Read", in{"file_path": name}); !strings.Contains(got, c.want) {
			t.Errorf("Read(%s) = %q, want it to say %q", name, got, c.want)
		}
	}
	k.file("latin1.txt", "caf\xe9 au lait\nBM is no bitmap\n")
	if got := k.ok("Read", in{"file_path": "latin1.txt"}); !strings.Contains(got, "caf\uFFFD au lait") {
		t.Errorf("Latin-1 text is shown as %q", got)
	}
	k.file("odd", "\xff")
	k.ok("Read", in{"file_path": "odd"})
	k.file("umlauts", strings.Repeat("x", sniffLen-1)+"äöü")
	k.ok("Read", in{"file_path": "umlauts"})
}

// Law: no file hangs a tool.
func TestNoFileHangsATool(t *testing.T) {
	k := newKit(t)
	fifo := filepath.Join(k.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(k.dir, "zero")); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		fifo: "named pipe", "zero": "/dev", "/dev/tty": "/dev", "/proc/self/environ": "/proc", sock: "socket", k.dir: "is a folder",
	} {
		for _, tool := range []string{"Read", "Write", "Edit"} {
			got := k.refused(tool, in{"file_path": path, "content": "x", "old_string": "x", "new_string": "y"})
			if !strings.Contains(got, want) {
				t.Errorf("%s(%s) = %q, want it to say %q", tool, path, got, want)
			}
		}
	}
	k.file("plain", "needle\n")
	for _, mode := range []string{"", findRipgrep()} {
		grep := &grepTool{at: place{dir: k.dir}, ripgrep: mode}
		if got := tooltest.OK(t, grep, in{"pattern": "needle"}); got != "plain" {
			t.Errorf("Grep (%q) among special files found %q", mode, got)
		}
		if got := tooltest.Refused(t, grep, in{"pattern": "needle", "path": "fifo"}); !strings.Contains(got, "named pipe") {
			t.Errorf("Grep (%q) of a pipe: %q", mode, got)
		}
	}
}

// shortDir is a folder whose name fits into the address of a socket.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestReadOfAMissingFileNamesWhatIsNear(t *testing.T) {
	k := newKit(t, func(e *Env) { e.Dirs = []string{"/opt/shared"} })
	k.file("src/Main.go", "")
	got := k.refused("Read", in{"file_path": "src/main.ts"})
	for _, want := range []string{k.dir, "/opt/shared", "Did you mean src/Main.go?"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not name %q", got, want)
		}
	}
}

func TestReadSaysUnchangedOnceThenShowsAgain(t *testing.T) {
	k := newKit(t)
	k.file("a", "x\n")
	call := in{"file_path": "a"}
	full := k.ok("Read", call)
	if got := k.ok("Read", call); !strings.Contains(got, "unchanged") {
		t.Errorf("the second read of the same lines: %q", got)
	}
	if got := k.ok("Read", call); got != full {
		t.Errorf("the third read, for an agent that lost the first: %q", got)
	}
	k.file("a", "y\n")
	if got := k.ok("Read", call); !strings.Contains(got, "y") {
		t.Errorf("a read after a change: %q", got)
	}
}

func TestReadOfAHugeFileIsBounded(t *testing.T) {
	k := newKit(t)
	path := k.file("huge", strings.Repeat("x\n", sniffLen))
	if err := os.Truncate(path, 20<<30); err != nil { // sparse: NULs after the text
		t.Skip(err)
	}
	got := k.ok("Read", in{"file_path": "huge", "limit": 3})
	if !strings.HasSuffix(got, "(Lines 1-3 of more.)") {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := k.tool("Read").Run(ctx, tooltest.Call(t, k.tool("Read"), in{"file_path": "huge", "offset": 5000, "limit": 9000}))
	if err != nil || !res.IsError || !strings.Contains(res.Text, "stopped") {
		t.Errorf("a cancelled read: %v, %v", res, err)
	}
}
