package defs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Options says where to look. The zero value reads only the built-ins.
type Options struct {
	// Cwd is the working directory; .claude/agents is read in it and in each
	// directory above, up to the repository root. Empty: no project.
	Cwd string
	// Home is the user's home; its .claude/agents is read. Empty: no user.
	Home string
	// ConfigDir replaces Home/.claude.
	ConfigDir string
	// AddDirs are further directories whose .claude/agents is read at the rank
	// of the project, below the working directory's own.
	AddDirs []string
	// ManagedDir is the organisation's settings directory.
	ManagedDir string
	// FlagJSON is the value of --agents: JSON text, or the path of a JSON file.
	FlagJSON string
	// NoBuiltins leaves the built-in agents out.
	NoBuiltins bool
	// Simple reads no files at all: built-ins and FlagJSON only.
	Simple bool
}

// Load reads every source and resolves precedence. It fails only when FlagJSON
// cannot be read as a whole or Cwd cannot be made absolute; everything else
// ends in Set.Problems.
func Load(o Options) (*Set, error) {
	var trees [][]Definition
	var problems []Problem
	if !o.NoBuiltins {
		b, ps := Builtins()
		trees, problems = append(trees, b), append(problems, ps...)
	}
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}
	for _, r := range roots {
		d, ps := loadTree(r)
		trees, problems = append(trees, d), append(problems, ps...)
	}
	if o.FlagJSON != "" {
		d, ps, err := o.loadFlag()
		if err != nil {
			return nil, err
		}
		trees, problems = append(trees, d), append(problems, ps...)
	}
	slices.SortStableFunc(trees, func(a, b []Definition) int { return rank(a) - rank(b) })
	return newSet(trees, problems), nil
}

func rank(tree []Definition) int {
	if len(tree) == 0 {
		return -1
	}
	return int(tree[0].Source)
}

// root is one directory of definitions.
type root struct {
	dir  string
	from Source
}

// roots lists the directories from the weakest to the strongest.
func (o Options) roots() ([]root, error) {
	if o.Simple {
		return nil, nil
	}
	var rs []root
	user := o.userDir()
	if user != "" {
		rs = append(rs, root{user, User})
	}
	project, err := o.projectDirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range project {
		if dir != user {
			rs = append(rs, root{dir, Project})
		}
	}
	if o.ManagedDir != "" {
		rs = append(rs, root{agentsDir(o.ManagedDir), Managed})
	}
	return rs, nil
}

func agentsDir(dir string) string { return filepath.Join(dir, ".claude", "agents") }

func (o Options) userDir() string {
	switch {
	case o.ConfigDir != "":
		return filepath.Join(o.ConfigDir, "agents")
	case o.Home != "":
		return agentsDir(o.Home)
	}
	return ""
}

// projectDirs returns the added directories and then the chain from the
// repository root down to the working directory.
func (o Options) projectDirs() ([]string, error) {
	var dirs []string
	for _, d := range o.AddDirs {
		dirs = append(dirs, agentsDir(d))
	}
	if o.Cwd == "" {
		return dirs, nil
	}
	cwd, err := filepath.Abs(o.Cwd)
	if err != nil {
		return nil, fmt.Errorf("find the project of %s: %w", o.Cwd, err)
	}
	chain := chainToRepository(cwd)
	slices.Reverse(chain)
	for _, d := range chain {
		dirs = append(dirs, agentsDir(d))
	}
	return dirs, nil
}

// chainToRepository lists cwd and its parents up to the one with .git. Outside
// a repository it is cwd alone, so that a stray ~/.claude is never a project.
func chainToRepository(cwd string) []string {
	var chain []string
	for dir := cwd; ; dir = filepath.Dir(dir) {
		chain = append(chain, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return chain
		}
		if filepath.Dir(dir) == dir {
			return []string{cwd}
		}
	}
}

// loadTree reads one directory. Files are parsed side by side; the result is
// in the order of their paths.
func loadTree(r root) ([]Definition, []Problem) {
	files, problems := findFiles(r.dir)
	type result struct {
		d        Definition
		problems []Problem
		ok       bool
	}
	results := make([]result, len(files))
	inParallel(len(files), func(i int) {
		d, ps, err := parseFile(files[i], r.from)
		results[i] = result{d, ps, err == nil}
	})
	var defs []Definition
	for _, res := range results {
		problems = append(problems, res.problems...)
		if res.ok {
			defs = append(defs, res.d)
		}
	}
	return defs, problems
}

// inParallel calls f for 0…n-1 on as many goroutines as there are processors
// and returns when all are done.
func inParallel(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// parseFile is Parse for a file on disk; documentation beside the agents is a
// warning, not a failure.
func parseFile(path string, from Source) (Definition, []Problem, error) {
	src, err := readLimited(path)
	if err != nil {
		p := Problem{Path: path, Text: fmt.Sprintf("cannot be read: %v", cause(err)), Fatal: true, cause: err}
		return Definition{}, []Problem{p}, p
	}
	d, ps, err := Parse(path, src, from)
	if errors.Is(err, ErrNotAgent) {
		for i := range ps {
			ps[i].Fatal = false
		}
	}
	return d, ps, err
}

// loadFlag reads --agents, which is JSON or the path of a file with it.
func (o Options) loadFlag() ([]Definition, []Problem, error) {
	text := strings.TrimSpace(o.FlagJSON)
	if strings.HasPrefix(text, "{") {
		return ParseFlag(text)
	}
	path := text
	if !filepath.IsAbs(path) && o.Cwd != "" {
		path = filepath.Join(o.Cwd, path)
	}
	src, err := readLimited(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--agents is neither a JSON object nor a readable file: %w", err)
	}
	return parseFlag(path, string(src))
}
