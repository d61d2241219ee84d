package defs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// Options are the sources of definitions. The zero value reads only the built-ins.
type Options struct {
	// Cwd is the working directory; .claude/agents is read in it and in each
	// directory above, up to the repository root. Empty: no project.
	Cwd string
	// Home is the user's home; its .claude/agents is read. Empty: no user.
	Home string
	// ConfigDir replaces Home/.claude.
	ConfigDir string
	// AddDirs are further directories whose .claude/agents is read at the rank
	// of the project, below the working directory's own. Relative ones begin at
	// Cwd.
	AddDirs []string
	// ManagedDir is the organisation's settings directory.
	ManagedDir string
	// PluginDirs are plugins that are read without being enabled in settings.
	PluginDirs []string
	// FlagJSON is the value of --agents: JSON text, or the path of a JSON file.
	FlagJSON string
	// Settings is the value of --settings: JSON text, or the path of a JSON file.
	Settings string
	// NoBuiltins leaves the built-in agents out.
	NoBuiltins bool
	// OmitBuiltins names built-in agents to leave out.
	OmitBuiltins []string
	// Simple reads no files at all: built-ins and FlagJSON only.
	Simple bool
	// Interactive keeps the built-ins whatever WithEnv finds.
	Interactive bool
	// Trusted reports whether the files below a directory are trusted; nil trusts all.
	// It is called with the repository root, or Cwd outside one, and with each of
	// AddDirs, from any goroutine.
	Trusted func(dir string) bool
	// Check returns what is wrong with a definition beside the form of its fields; nil
	// checks nothing. It may be called from any goroutine.
	Check func(Definition) []Problem
}

// Load reads every source and resolves precedence. It fails only if FlagJSON as a whole is
// invalid or Cwd cannot be made absolute; every other problem is in Set.Problems.
func Load(o Options) (*Set, error) { return NewLoader(o).Load() }

// Loader reads definitions repeatedly, and parses only what has changed in between. Its
// methods must not be called concurrently.
type Loader struct {
	o     Options
	cache map[fileKey]*parsed
	// byPath is the key of each file that is read once.
	byPath map[string]fileKey
	deps   map[string]fileState // every path the set depends on, as it was read
	set    *Set

	// Of one Load.
	old      map[fileKey]*parsed
	layers   []layer
	problems []Problem
}

// NewLoader returns a loader; it reads nothing yet.
func NewLoader(o Options) *Loader { return &Loader{o: o} }

// fileKey distinguishes readings of one file that give different definitions.
type fileKey struct {
	path   string
	from   Source
	plugin string
	prefix string
	trust  bool
}

type parsed struct {
	root     root
	dep      fileState
	d        Definition
	problems []Problem
	ok       bool
}

// layer is one place with definitions; higher ranks win.
type layer struct {
	from Source
	defs []Definition
}

// Load reads every source, as the function Load does.
func (l *Loader) Load() (*Set, error) {
	l.old, l.cache, l.deps = l.cache, map[fileKey]*parsed{}, map[string]fileState{}
	l.byPath = map[string]fileKey{}
	l.layers, l.problems = nil, nil
	l.addBuiltins()
	if !l.o.Simple {
		if err := l.addFiles(); err != nil {
			return nil, err
		}
	}
	if err := l.addFlag(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(l.layers, func(a, b layer) int { return int(a.from) - int(b.from) })
	l.set = newSet(l.layers, l.problems)
	l.old, l.layers, l.problems = nil, nil, nil
	return l.set, nil
}

func (l *Loader) add(from Source, defs []Definition, problems []Problem) {
	l.layers = append(l.layers, layer{from, defs})
	l.problems = append(l.problems, problems...)
}

func (l *Loader) addBuiltins() {
	if l.o.NoBuiltins {
		return
	}
	defs, ps := Builtins()
	l.add(BuiltIn, slices.DeleteFunc(defs, func(d Definition) bool { return slices.Contains(l.o.OmitBuiltins, d.Name) }), ps)
}

// root is one directory of definitions.
type root struct {
	dir      string
	from     Source
	distrust bool
	plugin   *plugin
	prefix   string // of names: "plugin:"
	only     string // the one file to read, instead of dir
}

// addFiles reads the sources on disk, within a rank from the weakest.
func (l *Loader) addFiles() error {
	project, err := l.o.project()
	if err != nil {
		return err
	}
	settings := l.readSettings(project)
	l.addPlugins(settings)
	for _, s := range settings {
		l.addSettings(s)
	}
	for _, r := range l.o.roots(project) {
		l.addTree(r)
	}
	return nil
}

// roots lists the directories from the weakest to the strongest of each rank.
func (o Options) roots(project []place) []root {
	var rs []root
	user := o.UserDir()
	if user != "" {
		rs = append(rs, root{dir: filepath.Join(user, "agents"), from: User})
	}
	for _, p := range project {
		if dir := filepath.Join(p.dir, ".claude"); dir != user {
			rs = append(rs, root{dir: filepath.Join(dir, "agents"), from: Project, distrust: p.distrust})
		}
	}
	if o.ManagedDir != "" {
		rs = append(rs, root{dir: filepath.Join(o.ManagedDir, ".claude", "agents"), from: Managed})
	}
	return rs
}

// UserDir returns the directory of the user's own configuration, or "".
func (o Options) UserDir() string {
	switch {
	case o.ConfigDir != "":
		return o.ConfigDir
	case o.Home != "":
		return filepath.Join(o.Home, ".claude")
	}
	return ""
}

// place is a directory that may contain .claude.
type place struct {
	dir      string
	distrust bool
	added    bool // by AddDirs
}

// project returns the added directories and then the chain from the repository
// root down to the working directory.
func (o Options) project() ([]place, error) {
	var places []place
	for _, d := range o.AddDirs {
		if !filepath.IsAbs(d) && o.Cwd != "" {
			d = filepath.Join(o.Cwd, d)
		}
		places = append(places, place{d, o.distrusts(d), true})
	}
	if o.Cwd == "" {
		return places, nil
	}
	cwd, err := filepath.Abs(o.Cwd)
	if err != nil {
		return nil, fmt.Errorf("find the project of %s: %w", o.Cwd, err)
	}
	chain := chainToRepository(cwd)
	slices.Reverse(chain)
	distrust := o.distrusts(chain[0])
	for _, d := range chain {
		places = append(places, place{d, distrust, false})
	}
	return places, nil
}

// Repository returns the root of the repository of Cwd, or Cwd outside one.
func (o Options) Repository() (string, error) {
	cwd, err := filepath.Abs(o.Cwd)
	if err != nil {
		return "", fmt.Errorf("find the project of %s: %w", o.Cwd, err)
	}
	chain := chainToRepository(cwd)
	return chain[len(chain)-1], nil
}

func (o Options) distrusts(dir string) bool { return o.Trusted != nil && !o.Trusted(dir) }

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
