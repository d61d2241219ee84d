package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/gitignore"
	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/internal/sandbox"
)

// safeGit keeps a repository's own settings from running programs.
var safeGit = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotepath=false", "-c", "safe.bareRepository=explicit"}

// sources lists the files below root that a search reads, as slash paths
// relative to it and in the order of a walk: what git does not ignore inside a
// repository, else what no .gitignore from root downwards names.
func sources(ctx context.Context, root string, env []string) ([]string, error) {
	var files []string
	if _, inside := repository(root); inside {
		if listed, ok := gitFiles(ctx, root, env); ok {
			files = listed
		}
	}
	if files == nil {
		walked, err := walkFiles(ctx, root)
		if err != nil {
			return nil, err
		}
		files = walked
	}
	slices.SortFunc(files, walkOrder)
	return slices.Compact(files), nil
}

// walkOrder compares paths folder by folder, as a walk meets them.
func walkOrder(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// repository returns the closest folder from dir upwards that holds a .git.
func repository(dir string) (top string, ok bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// gitFiles asks git for the tracked and the untracked files that are not
// ignored, less the tracked ones that are. It is not ok where git is missing,
// refuses the repository, or ignores root itself, which the caller named.
func gitFiles(ctx context.Context, root string, env []string) (files []string, ok bool) {
	if _, ok := runGit(ctx, root, env, "check-ignore", "-q", "."); ok {
		return nil, false
	}
	listed, ok := runGit(ctx, root, env, "ls-files", "-co", "--exclude-standard", "-z")
	if !ok {
		return nil, false
	}
	dropped, ok := runGit(ctx, root, env, "ls-files", "-ci", "--exclude-standard", "-z")
	if !ok {
		return nil, false
	}
	drop := make(map[string]bool)
	for name := range names(dropped) {
		drop[name] = true
	}
	files = []string{}
	for name := range names(listed) {
		if !drop[name] {
			files = append(files, nested(ctx, root, name, env)...)
		}
	}
	return files, true
}

// nested expands an entry of git that git does not list itself: a repository inside the
// repository.
func nested(ctx context.Context, root, name string, env []string) []string {
	dir := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return []string{name}
	}
	inside, err := sources(ctx, dir, env)
	if err != nil {
		return nil
	}
	for i, f := range inside {
		inside[i] = strings.TrimSuffix(name, "/") + "/" + f
	}
	return inside
}

func names(list []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range bytes.SplitSeq(list, []byte{0}) {
			if len(name) > 0 && !yield(string(name)) {
				return
			}
		}
	}
}

func runGit(ctx context.Context, dir string, env []string, args ...string) ([]byte, bool) {
	cmd := exec.CommandContext(ctx, "git", slices.Concat(safeGit, args)...)
	cmd.Dir, cmd.Env = dir, slices.Concat(env, []string{"GIT_OPTIONAL_LOCKS=0"})
	var out bytes.Buffer
	cmd.Stdout = &out
	err := sandbox.Run(cmd, reading(dir, env))
	return out.Bytes(), err == nil
}

// reading returns the profile of git, which lists a directory.
func reading(dir string, env []string) sandbox.Profile {
	return sandbox.Place{Dirs: []string{dir}, Home: variable(env, "HOME"), Getenv: func(name string) string { return variable(env, name) }}.Reading()
}

// variable returns the value of a variable of an environment.
func variable(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// walkFiles lists the files of a directory outside of repositories.
func walkFiles(ctx context.Context, root string) ([]string, error) {
	stack := map[string]gitignore.Rules{"": ignoreFile(root, "")}
	files := []string{}
	err := nolink.Walk(root, func(rel string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("searching %s was stopped: %w", root, context.Cause(ctx))
		}
		if rel == "." {
			return err
		}
		parent := rel[:max(strings.LastIndexByte(rel, '/'), 0)]
		dir := d.IsDir()
		switch {
		case err != nil && dir, dir && versionControl(d.Name()), dir && stack[parent].Ignore(rel, true):
			return fs.SkipDir
		case dir:
			stack[rel] = slices.Concat(stack[parent], ignoreFile(filepath.Join(root, filepath.FromSlash(rel)), rel))
		case err == nil && d.Type().IsRegular() && !versionControl(d.Name()) && !stack[parent].Ignore(rel, false):
			files = append(files, rel)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s", root)
	}
	return files, err
}

// maxIgnoreFile bounds a .gitignore; a larger one is something else.
const maxIgnoreFile = 1 << 20

// ignoreFile reads the .gitignore of a folder; base is the folder relative to the
// root. A file that cannot be read has no rules.
func ignoreFile(folder, base string) gitignore.Rules {
	text, err := readSmall(filepath.Join(folder, ".gitignore"), maxIgnoreFile)
	if err != nil {
		return nil
	}
	return gitignore.Parse(string(text), base)
}
