package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// folders makes inside/dir/file and outside/dir/file and returns their parent, without
// links of its own.
func folders(t testing.TB) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inside", "outside"} {
		dir := filepath.Join(top, name, "dir")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "file"), []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsOpenedThroughALink(t *testing.T) {
	top := folders(t)
	in := filepath.Join(top, "inside")
	link(t, "../outside", filepath.Join(in, "up"))
	link(t, "dir/file", filepath.Join(in, "near"))
	link(t, filepath.Join(top, "none"), filepath.Join(in, "nowhere"))
	for _, path := range []string{"up/dir/file", "near", "nowhere", "up/file"} {
		if f, err := Open(filepath.Join(in, path)); !errors.Is(err, ErrLink) {
			t.Errorf("Open of %s returns %v, %v", path, f, err)
		}
	}
	for _, path := range []string{"up", "up/dir", "up/new/deeper", "nowhere"} {
		if r, err := Root(filepath.Join(in, path), true); !errors.Is(err, ErrLink) {
			t.Errorf("Root of %s returns %v, %v", path, r, err)
		}
	}
	if _, err := os.Stat(filepath.Join(top, "outside", "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was made outside: %v", err)
	}
	f, err := Open(filepath.Join(in, "dir", "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, path := range []string{"dir", "made/by/root", "."} {
		r, err := Root(filepath.Join(in, path), true)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Root(filepath.Join(in, "missing"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is missing: %v", err)
	}
	if _, err := Open("relative"); err == nil {
		t.Error("a relative path was opened")
	}
	if r, err := Root("/", false); err != nil || r.Close() != nil {
		t.Errorf("the root: %v", err)
	}
}

func TestALinkThatFlipsLeadsNowhere(t *testing.T) {
	tries := 500
	if os.Getenv("SWARM_SOAK") != "" {
		tries = 100_000
	}
	top := folders(t)
	in := filepath.Join(top, "inside")
	stop := flip(t, filepath.Join(in, "dir"), filepath.Join(top, "outside", "dir"))
	defer stop()
	opened, refused := 0, 0
	for i := 0; i < tries || (opened == 0 || refused == 0) && i < 1000*tries; i++ {
		f, err := Open(filepath.Join(in, "dir", "file"))
		if err != nil {
			refused++
			continue
		}
		opened++
		text := make([]byte, 10)
		n, _ := f.Read(text)
		if got := string(text[:n]); got != "inside" {
			t.Fatalf("%q was read", got)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		root, err := Root(filepath.Join(in, "dir"), false)
		if err != nil {
			continue
		}
		if err := errors.Join(root.WriteFile("new", []byte("x"), 0o600), root.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if opened == 0 || refused == 0 {
		t.Errorf("%d opened and %d refused: the race was not reached", opened, refused)
	}
	if _, err := os.Stat(filepath.Join(top, "outside", "dir", "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written outside: %v", err)
	}
}

func TestAWalkStaysBelow(t *testing.T) {
	top := folders(t)
	in := filepath.Join(top, "inside")
	link(t, "../outside", filepath.Join(in, "up"))
	if err := os.WriteFile(filepath.Join(top, "outside", "dir", "secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Walk(filepath.Join(in, "up"), func(string, fs.DirEntry, error) error { return nil }); !errors.Is(err, ErrLink) {
		t.Errorf("a walk from a link: %v", err)
	}
	met := func() (names []string) {
		err := Walk(in, func(name string, d fs.DirEntry, err error) error {
			names = append(names, name)
			if err != nil && !errors.Is(err, ErrLink) && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if got := strings.Join(met(), " "); got != ". dir dir/file up" {
		t.Errorf("met %s", got)
	}
	stop := flip(t, filepath.Join(in, "dir"), filepath.Join(top, "outside", "dir"))
	defer stop()
	for range 500 {
		if names := met(); slices.Contains(names, "dir/secret") || slices.Contains(names, "dir.link/secret") {
			t.Fatalf("met %s", names)
		}
	}
}

// flip puts a directory and a link to target in turn at path until stop is called, which
// leaves the directory there.
func flip(t testing.TB, path, target string) (stop func()) {
	t.Helper()
	aside, other, ended := path+".aside", path+".link", make(chan struct{})
	link(t, target, other)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			for _, move := range [][2]string{{path, aside}, {other, path}, {path, other}, {aside, path}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Error(err)
					return
				}
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	return func() { close(ended); work.Wait() }
}

func TestResolveFollowsLinksThatLeadNowhere(t *testing.T) {
	top := folders(t)
	in := filepath.Join(top, "inside")
	link(t, "../outside", filepath.Join(in, "up"))
	link(t, "../outside/none", filepath.Join(in, "nowhere"))
	link(t, "loop", filepath.Join(in, "loop"))
	for path, want := range map[string]string{
		"dir/file": "inside/dir/file", "up/dir": "outside/dir", "up/new/file": "outside/new/file",
		"nowhere": "outside/none", "nowhere/below": "outside/none/below", "missing/x": "inside/missing/x",
	} {
		if got, err := Resolve(filepath.Join(in, path)); err != nil || got != filepath.Join(top, want) {
			t.Errorf("%s leads to %s, %v; want %s", path, strings.TrimPrefix(got, top), err, want)
		}
	}
	if got, err := Resolve(filepath.Join(in, "loop", "x")); err == nil {
		t.Errorf("a loop leads to %s", got)
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(folders(b), "inside", "dir", "file")
	for name, open := range map[string]func(string) (*os.File, error){"bare": os.Open, "nolink": Open} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f, err := open(path)
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
