package confine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// place returns profiles for a new directory with some files.
func place(t *testing.T, denied func(path string, unasked bool) (read, change bool)) (c *Commands, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range []string{"a/.env", "a/b/.env", "a/b/c", ".git/.env", "asked", "locked/x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c = New(Options{
		Place:  sandbox.Place{Dirs: []string{dir}},
		Denied: func() func(string, bool) (bool, bool) { return denied },
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, dir
}

func rule(path string, unasked bool) (read, change bool) {
	base := filepath.Base(path)
	return base == ".env" || unasked && base == "asked", base == "locked"
}

func TestDeniedFilesAreHidden(t *testing.T) {
	c, dir := place(t, rule)
	for _, n := range sandbox.Names() {
		if sandbox.Probe().Enforces(n) != nil {
			continue
		}
		p, err := c.Profile(n)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"a/.env": false, "a/b/.env": false, "asked": n == sandbox.Open, "a/b/c": true, ".git/.env": true} {
			if got := p.MayRead(filepath.Join(dir, name)); got != want {
				t.Errorf("%s reads %s: %v", n, name, got)
			}
		}
		if n != sandbox.Inspect && (p.MayWrite(dir+"/locked/x") || !p.MayWrite(dir+"/a/b/c")) {
			t.Errorf("%s changes what is locked, or nothing", n)
		}
	}
	again, err := c.Profile(sandbox.Open)
	if err != nil || len(again.Denied) != 3 {
		t.Errorf("the second time %v are denied, %v", again.Denied, err)
	}
}

func TestBoundsHold(t *testing.T) {
	c, dir := place(t, nil)
	fail := errors.New("no git")
	c.options.Bounds = func() (fixed, free []string, err error) {
		return []string{dir, dir + "/absent"}, []string{dir + "/a", "/"}, fail
	}
	if _, err := c.Profile(sandbox.Open); !errors.Is(err, fail) {
		t.Errorf("without bounds a command gets %v", err)
	}
	fail = nil
	for _, n := range sandbox.Names() {
		if sandbox.Probe().Enforces(n) != nil {
			continue
		}
		p, err := c.Profile(n)
		if err != nil {
			t.Fatal(err)
		}
		if p.MayWrite(dir+"/asked") || p.MayWrite(dir+"/a/b/c") != (n != sandbox.Inspect) {
			t.Errorf("%s changes what is fixed, or not what is free", n)
		}
	}
	if again, err := c.Profile(sandbox.Open); err != nil || !again.MayWrite(filepath.Dir(dir)+"/x") {
		t.Errorf("open is bounded elsewhere: %v", err)
	}
}

func TestTooManyFilesRefuseWhatRunsUnasked(t *testing.T) {
	if err := sandbox.Probe().Enforces(sandbox.Inspect); err != nil {
		t.Skip(err)
	}
	c, dir := place(t, func(path string, _ bool) (bool, bool) {
		return filepath.Dir(path) != "/" && strings.Contains(path, "/many/"), false
	})
	if err := os.Mkdir(dir+"/many", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range maxDenied + 2 {
		if err := os.WriteFile(dir+"/many/"+strconv.Itoa(i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Profile(sandbox.Inspect); err == nil || !strings.Contains(err.Error(), "too many files") {
		t.Errorf("what runs unasked: %v", err)
	}
	if p, err := c.Profile(sandbox.Open); err != nil || len(p.Denied) < maxDenied {
		t.Errorf("what was asked about: %d denied, %v", len(p.Denied), err)
	}
}

func TestEditIsNeverReplaced(t *testing.T) {
	c, _ := place(t, nil)
	p, err := c.Profile(sandbox.Edit)
	if sandbox.Probe().Enforces(sandbox.Edit) == nil {
		if err != nil || p.Name != sandbox.Edit || p.Temp == "" {
			t.Errorf("the profile is %s with %q, %v", p.Name, p.Temp, err)
		}
	} else if err == nil {
		t.Errorf("the profile is %s", p.Name)
	}
	if p, err := c.Profile(""); err != nil || p.Name != sandbox.Open || p.Temp != "" {
		t.Errorf("without a name: %s with %q, %v", p.Name, p.Temp, err)
	}
}

func TestLeftoversOfTheDeadAreRemoved(t *testing.T) {
	c, _ := place(t, nil)
	mine, err := c.Temp()
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(os.TempDir(), prefix+"dead")
	for _, path := range []string{dead + "/tmp", filepath.Join(os.TempDir(), "swarm-other")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(os.TempDir(), prefix+"link")
	if err := os.Symlink(filepath.Join(os.TempDir(), "swarm-other"), link); err != nil {
		t.Fatal(err)
	}
	if n, err := RemoveLeftovers(); n != 1 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{filepath.Base(filepath.Dir(mine)), prefix + "link", "swarm-other"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(mine)); err == nil {
		t.Error("Close leaves the directory")
	}
}
