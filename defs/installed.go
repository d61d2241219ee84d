package defs

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// installed finds the directory of "plugin@marketplace" in the user's plugins:
// the one in the list of installed plugins, or else the newest version in the cache,
// or else the marketplace's own copy.
func (l *Loader) installed(id string) (string, bool) {
	base := l.o.UserDir()
	name, market, _ := strings.Cut(id, "@")
	if base == "" || nameProblem(name) != "" || market != "" && nameProblem(market) != "" {
		return "", false
	}
	base = filepath.Join(base, "plugins")
	if dir := l.listed(filepath.Join(base, "installed_plugins.json"), id); dir != "" {
		return dir, true
	}
	cache := filepath.Join(base, "cache", market, name)
	if dir := l.newest(cache); dir != "" {
		return dir, true
	}
	for _, dir := range []string{filepath.Join(base, "marketplaces", market, "plugins", name), filepath.Join(base, name)} {
		if l.recordState(dir).info != nil {
			return dir, true
		}
	}
	return "", false
}

// listed reads the path of a plugin from the list of installed ones, of which
// two forms exist: an object, or a list with one for each scope.
func (l *Loader) listed(list, id string) string {
	l.recordState(list)
	src, err := ReadFile(list)
	if err != nil {
		return "" // the cache has the directory
	}
	root, err := parseJSON(string(src))
	if err != nil {
		l.problems = append(l.problems, Problem{Path: list, Source: Plugin, Line: lineOf(err), Text: fmt.Sprintf("the list of installed plugins cannot be read: %v", withoutLine(err)), cause: err})
		return ""
	}
	entry := child(child(root, "plugins"), id)
	if entry != nil && entry.Kind == yaml.SequenceNode && len(entry.Content) > 0 {
		entry = entry.Content[len(entry.Content)-1]
	}
	if path := child(entry, "installPath"); path != nil && l.recordState(path.Value).info != nil {
		return path.Value
	}
	return ""
}

// newest returns the folder of the highest version in dir, or "".
func (l *Loader) newest(dir string) string {
	if l.recordState(dir).info == nil {
		return ""
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	best := ""
	for _, e := range entries {
		if e.IsDir() && (best == "" || compareVersions(e.Name(), best) > 0) {
			best = e.Name()
		}
	}
	if best == "" {
		return ""
	}
	return filepath.Join(dir, best)
}

// compareVersions orders "1.10.0" after "1.9.0"; other texts as they stand.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if c := cmp.Or(cmp.Compare(len(digits(x)), len(digits(y))), cmp.Compare(x, y)); c != 0 {
			return c
		}
	}
	return 0
}

func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
