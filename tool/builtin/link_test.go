package builtin

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/tool"
)

// decided returns a call with the place that its path leads to now, as a decision has it.
func decided(t *testing.T, name, path string, input map[string]any) tool.Call {
	t.Helper()
	real, err := nolink.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	input["file_path"] = path
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{ID: "c", Name: name, Input: raw, Paths: map[string]string{path: real}}
}

// A link that comes after the decision, in place of the file or of a folder above it, is
// not followed.
func TestFileToolsActWhereTheDecisionWasAbout(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(top, "outside")
	tools := map[string]tool.Tool{}
	for _, x := range New(Env{Dir: filepath.Join(top, "project")}) {
		tools[x.Spec().Name] = x
	}
	for _, swapped := range []string{"dir", "dir/file"} {
		for name, input := range map[string]map[string]any{
			"Read": {}, "Write": {"content": "new"}, "Edit": {"old_string": "secret", "new_string": "new"},
		} {
			if err := errors.Join(os.RemoveAll(filepath.Join(top, "project")), os.RemoveAll(outside),
				os.MkdirAll(filepath.Join(top, "project", "dir"), 0o700), os.Mkdir(outside, 0o700),
				os.WriteFile(filepath.Join(outside, "file"), []byte("secret"), 0o600)); err != nil {
				t.Fatal(err)
			}
			c := decided(t, name, filepath.Join(top, "project", "dir", "file"), input)
			path, target := filepath.Join(top, "project", swapped), filepath.Join(outside, strings.TrimPrefix(swapped, "dir"))
			if err := errors.Join(os.RemoveAll(path), os.Symlink(target, path)); err != nil {
				t.Fatal(err)
			}
			r, err := tools[name].Run(t.Context(), c)
			if err != nil || strings.Contains(r.Text, "secret") {
				t.Errorf("%s through %s gives %q, %v", name, swapped, r.Text, err)
			}
			if text, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(text) != "secret" {
				t.Errorf("%s through %s made %q of the file outside, %v", name, swapped, text, err)
			}
		}
	}
}

// TestNoWriteLeavesThroughALinkThatFlips writes while a folder is replaced by a link and
// back again.
func TestNoWriteLeavesThroughALinkThatFlips(t *testing.T) {
	writes := 100
	if os.Getenv("SWARM_SOAK") != "" {
		writes = 100_000
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, aside, flip := filepath.Join(top, "in", "dir"), filepath.Join(top, "aside"), filepath.Join(top, "flip")
	outside := filepath.Join(top, "out")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Mkdir(outside, 0o700), os.Symlink(outside, flip)); err != nil {
		t.Fatal(err)
	}
	stop := flips(dir, aside, flip)
	write := &writeTool{at: place{dir: filepath.Join(top, "in")}, seen: &views{}}
	written, refused := 0, 0
	for i := 0; i < writes || (written == 0 || refused == 0) && i < 20*writes; i++ {
		c := tool.Call{ID: "c", Name: "Write", Input: json.RawMessage(`{"file_path":"dir/file","content":"x"}`), Paths: map[string]string{filepath.Join(dir, "file"): filepath.Join(dir, "file")}}
		r, err := write.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError {
			refused++
		} else {
			written++
		}
	}
	stop()
	left, err := os.ReadDir(outside)
	if err != nil || len(left) > 0 {
		t.Errorf("outside are %v, %v", left, err)
	}
	if written == 0 || refused == 0 {
		t.Errorf("%d written and %d refused: the race was not reached", written, refused)
	}
}

// flips puts a directory and a link in turn at dir until stop is called.
func flips(dir, aside, link string) (stop func()) {
	ended := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			for _, move := range [][2]string{{dir, aside}, {link, dir}, {dir, link}, {aside, dir}} {
				// Write may have made the directory anew where it was missing.
				if err := os.Rename(move[0], move[1]); err != nil && !errors.Is(err, fs.ErrNotExist) {
					_ = os.RemoveAll(move[1])
					_ = os.Rename(move[0], move[1])
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

// TestNoSearchLeavesThroughALinkThatFlips searches, in a directory and above it, while the
// directory is replaced by a link and back again.
func TestNoSearchLeavesThroughALinkThatFlips(t *testing.T) {
	searches := 30
	if os.Getenv("SWARM_SOAK") != "" {
		searches = 3000
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, outside, link := filepath.Join(top, "in", "dir"), filepath.Join(top, "out"), filepath.Join(top, "flip")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Mkdir(outside, 0o700), os.Symlink(outside, link),
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600), os.WriteFile(filepath.Join(outside, "secret"), []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	at := place{dir: filepath.Join(top, "in"), getenv: os.Getenv}
	tools := []tool.Tool{&globTool{at: at}, &grepTool{at: at}}
	if rg := findRipgrep(); rg != "" && sandbox.Probe().Landlock > 0 {
		tools = append(tools, &grepTool{at: at, ripgrep: rg})
	}
	stop := flips(dir, filepath.Join(top, "aside"), link)
	defer stop()
	for range searches {
		for _, x := range tools {
			for _, path := range []string{dir, filepath.Join(top, "in")} {
				input, err := json.Marshal(map[string]string{"pattern": map[string]string{"Glob": "**", "Grep": "text"}[x.Spec().Name], "path": path})
				if err != nil {
					t.Fatal(err)
				}
				r, err := x.Run(t.Context(), tool.Call{ID: "c", Name: x.Spec().Name, Input: input, Paths: map[string]string{path: path}})
				if err != nil || strings.Contains(r.Text, "secret") {
					t.Fatalf("%s in %s (%+v) gives %q, %v", x.Spec().Name, path, x, r.Text, err)
				}
			}
		}
	}
}

func TestTheOutputOfACommandIsReadThroughNoLink(t *testing.T) {
	dir := t.TempDir()
	output, secret := filepath.Join(dir, "output"), filepath.Join(dir, "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.WriteFile(output, []byte("printed"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if text, err := tail(output, 100); text != "printed" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := errors.Join(os.Remove(output), os.Symlink(secret, output)); err != nil {
		t.Fatal(err)
	}
	if text, err := tail(output, 100); text != "" || !errors.Is(err, nolink.ErrLink) {
		t.Errorf("%q, %v", text, err)
	}
}
