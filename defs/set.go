package defs

import (
	"cmp"
	"fmt"
	"slices"
)

// Set is the outcome of Load.
type Set struct {
	// Active holds one definition per name, sorted by name.
	Active []Definition
	// All holds the shadowed ones too, lowest rank first.
	All []Definition
	// Problems is sorted by path and line.
	Problems []Problem
}

// Lookup finds an active definition by name. The exact name wins; otherwise
// case and separators do not count, and of several the highest source wins.
func (s *Set) Lookup(name string) (Definition, bool) {
	i, ok := slices.BinarySearchFunc(s.Active, name, func(d Definition, n string) int { return cmp.Compare(d.Name, n) })
	if ok {
		return s.Active[i], true
	}
	want, best := fold(name), -1
	for i := range s.Active {
		if fold(s.Active[i].Name) == want && (best < 0 || s.Active[i].Source > s.Active[best].Source) {
			best = i
		}
	}
	if best < 0 || want == "" {
		return Definition{}, false
	}
	return s.Active[best], true
}

// Names returns the names of the active definitions, sorted.
func (s *Set) Names() []string {
	names := make([]string, len(s.Active))
	for i, d := range s.Active {
		names[i] = d.Name
	}
	return names
}

// newSet picks the active ones out of all, which come lowest rank first. Among
// equals of one source a later tree is nearer and wins.
func newSet(trees [][]Definition, problems []Problem) *Set {
	s := &Set{Problems: problems}
	active := map[string]Definition{}
	for _, tree := range trees {
		mine := make(map[string]Definition, len(tree))
		for _, d := range tree {
			if first, dup := mine[d.Name]; dup {
				s.Problems = append(s.Problems, Problem{
					Path: d.Path, Line: 1, Agent: d.Name,
					Text: fmt.Sprintf("agent %q is already defined in %s, which is used; rename one of them", d.Name, first.Path),
				})
				continue
			}
			mine[d.Name] = d
			active[d.Name] = d
		}
		s.All = append(s.All, tree...)
	}
	for _, d := range active {
		s.Active = append(s.Active, d)
	}
	slices.SortFunc(s.Active, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	s.Problems = append(s.Problems, lookalikes(s.Active)...)
	sortProblems(s.Problems)
	return s
}

// lookalikes complains about active names that Lookup cannot tell apart unless
// they are written exactly.
func lookalikes(active []Definition) []Problem {
	var out []Problem
	seen := make(map[string]Definition, len(active))
	for _, d := range active {
		key := fold(d.Name)
		if other, dup := seen[key]; dup {
			out = append(out, Problem{
				Path: d.Path, Line: 1, Agent: d.Name,
				Text: fmt.Sprintf("the name %q differs from %q (%s) only in case or separators; only the exact spelling tells them apart", d.Name, other.Name, other.Path),
			})
		}
		seen[key] = d
	}
	return out
}
