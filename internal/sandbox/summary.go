package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Summarize writes what Explain does in few lines, with a part of each list.
func (p Profile) Summarize(w io.Writer, m Machine) error {
	var b bytes.Buffer
	line := func(what, text string) {
		if text != "" {
			list(&b, what, []string{text})
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", p.Name, purpose(p.Name))
	line("reads", brief(p.Read, p.Shown))
	line("changes", cmp.Or(brief(p.writable(), p.Shown), "a private temporary directory"))
	line("hidden", "what swarm keeps, and credentials: "+brief(p.Hidden, nil))
	var fixed []string
	for _, f := range p.Fixed {
		fixed = append(fixed, f.Path)
	}
	line("read only", brief(fixed, nil))
	line("limits", strings.Join(append(p.Limits.list(), p.Totals.list()...), "; "))
	line("network", p.network()+"; Unix sockets: "+yes(p.Sockets))
	if p.Name == Open {
		line("reaches", "services of yours that run commands for whoever connects, such as docker and tmux")
	}
	line("by", m.means(p))
	_, err := w.Write(b.Bytes())
	return err
}

// What brief shows of a list.
const (
	maxBrief     = 6  // entries
	maxBriefText = 96 // characters
	maxSiblings  = 3  // in one directory; more count as one entry
)

// brief returns the first of some paths, those in front before the others, and how many more
// there are.
func brief(paths, front []string) string {
	entries := withoutSiblings(paths)
	slices.SortStableFunc(entries, func(a, b entry) int { return order(a, front) - order(b, front) })
	var shown []string
	size, rest := 0, 0
	for i, e := range entries {
		if size += len(e.text); i > 0 && (i >= maxBrief || size > maxBriefText) {
			rest += e.count
			continue
		}
		shown = append(shown, e.text)
	}
	text := strings.Join(shown, ", ")
	if rest > 0 {
		text += fmt.Sprintf(", and %d more", rest)
	}
	return text
}

// entry is a path, or the paths in one directory.
type entry struct {
	text  string
	count int
}

func order(e entry, front []string) int {
	if slices.Contains(front, e.text) {
		return 0
	}
	return 1
}

// withoutSiblings counts paths in the same directory as one entry, where there are many.
func withoutSiblings(paths []string) (all []entry) {
	siblings := map[string]int{}
	for _, path := range paths {
		siblings[filepath.Dir(path)]++
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		switch n := siblings[dir]; {
		case n <= maxSiblings || dir == "/":
			all = append(all, entry{path, 1})
		case n > 0 && !slices.ContainsFunc(all, func(e entry) bool { return strings.HasPrefix(e.text, dir+" (") }):
			all = append(all, entry{fmt.Sprintf("%s (%d entries of it)", dir, n), n})
		}
	}
	return all
}
