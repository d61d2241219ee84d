package builtin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/gittest"
)

func TestSourcesInAndOutOfARepositoryAreTheSame(t *testing.T) {
	gittest.Need(t)
	plain, repo := t.TempDir(), t.TempDir()
	for _, dir := range []string{plain, repo} {
		k := &kit{t: t, dir: dir}
		k.file(".gitignore", "*.log\n/build/\n!keep.log\n")
		for _, name := range []string{
			"a.go", "a.log", "keep.log", "build/x.go", "sub/build/y.go", "sub/.gitignore", "sub/z.tmp", "sub/deep/z.tmp",
			"vendor/v.go", "node_modules/n.js", ".env", "a-b/c", "a/b", "a.b/c", "ünï/ç.txt",
		} {
			k.file(name, "x\n")
		}
		k.file("sub/.gitignore", "*.tmp\nnothing\n")
	}
	gittest.Run(t, repo, nil, "init", "-q")
	want := []string{".env", ".gitignore", "a/b", "a-b/c", "a.b/c", "a.go", "keep.log", "node_modules/n.js", "sub/.gitignore", "sub/build/y.go", "vendor/v.go", "ünï/ç.txt"}
	env := childenv.Of(os.Getenv, nil)
	for _, dir := range []string{plain, repo} {
		got, err := sources(t.Context(), dir, env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
	if _, ok := gitFiles(t.Context(), plain, env); ok {
		t.Error("git listed a folder that is no repository")
	}
}

func TestSourcesGoIntoNestedRepositoriesAndIgnoredRoots(t *testing.T) {
	gittest.Need(t)
	k := &kit{t: t, dir: t.TempDir()}
	gittest.Run(t, k.dir, nil, "init", "-q")
	k.file("inner/f", "x")
	k.file("inner/skipped.o", "x")
	k.file("inner/.gitignore", "*.o\n")
	k.file(".gitignore", "out/\n")
	k.file("out/f", "x")
	gittest.Run(t, filepath.Join(k.dir, "inner"), nil, "init", "-q")
	env := childenv.Of(os.Getenv, nil)
	for dir, want := range map[string][]string{
		k.dir:                       {".gitignore", "inner/.gitignore", "inner/f"},
		filepath.Join(k.dir, "out"): {"f"},
	} {
		got, err := sources(t.Context(), dir, env)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("sources(%s) = %q, %v; want %q", dir, got, err, want)
		}
	}
}

// A repository must not be able to run a program by being searched.
func TestSearchingRunsNothingOfTheRepository(t *testing.T) {
	gittest.Need(t)
	k := newKit(t)
	proof := filepath.Join(t.TempDir(), "ran")
	gittest.Run(t, k.dir, nil, "init", "-q")
	hook := k.file("evil.sh", fmt.Sprintf("#!/bin/sh\ntouch %s\n", proof))
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	k.file(".git/hooks/post-index-change", k.content("evil.sh"))
	if err := os.Chmod(filepath.Join(k.dir, ".git/hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, k.dir, nil, "config", "core.fsmonitor", hook)
	k.file("sub/a", "needle\n")
	for _, rg := range []string{"", findRipgrep()} {
		grep := &grepTool{at: place{dir: k.dir, getenv: os.Getenv}, ripgrep: rg}
		for _, path := range []string{".", "sub"} {
			if res, err := grep.Run(context.WithoutCancel(t.Context()), call(t, grep, in{"pattern": "needle", "path": path})); err != nil || res.Text != "sub/a" {
				t.Errorf("Grep (%q) in %s: %v %v", rg, path, res, err)
			}
		}
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("the repository's program ran")
	}
	gittest.Run(t, k.dir, nil, "status", "--short") // would run it: the trap is a real one
	if _, err := os.Stat(proof); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
}
