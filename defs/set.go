package defs

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Set is the result of Load.
type Set struct {
	// Active holds one definition per name, sorted by name.
	Active []Definition
	// All includes the shadowed ones, lowest rank first.
	All []Definition
	// Problems is sorted by path and line.
	Problems []Problem

	untrusted bool // a definition is of a repository that is not trusted
}

// Lookup finds an active definition by name. The exact name wins; otherwise case and
// separators are ignored, and the highest source wins.
func (s *Set) Lookup(name string) (Definition, bool) {
	if d, ok := s.exact(name); ok {
		return d, true
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

func (s *Set) find(name string) (int, bool) {
	i := sort.Search(len(s.Active), func(i int) bool { return s.Active[i].Name >= name })
	return i, i < len(s.Active) && s.Active[i].Name == name
}

func (s *Set) exact(name string) (Definition, bool) {
	i, ok := s.find(name)
	if !ok {
		return Definition{}, false
	}
	return s.Active[i], true
}

// Names returns the names of the active definitions, sorted.
func (s *Set) Names() []string {
	names := make([]string, len(s.Active))
	for i, d := range s.Active {
		names[i] = d.Name
	}
	return names
}

// newSet selects the active ones of all, which are ordered by rank. Of one source, a later
// tree is nearer and wins.
func newSet(layers []layer, problems []Problem) *Set {
	s := &Set{Problems: problems}
	size := 0
	for _, t := range layers {
		size += len(t.defs)
	}
	s.All = make([]Definition, 0, size)
	active := make(map[string]int, size) // index in All
	trusted := map[string]int{}          // the same, of those that others confine
	for _, t := range layers {
		s.take(t, active, trusted)
	}
	s.Active = make([]Definition, 0, len(active))
	for _, i := range active {
		s.Active = append(s.Active, s.All[i])
	}
	slices.SortFunc(s.Active, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	s.addProblems(similarNames(s.Active)...)
	sortProblems(s.Problems)
	return s
}

func (s *Set) take(t layer, active, trusted map[string]int) {
	first := len(s.All)
	for _, d := range t.defs {
		s.untrusted = s.untrusted || d.Untrusted
		old, shadows := active[d.Name]
		if shadows && old >= first {
			s.addProblems(Problem{
				Path: d.Path, Line: 1, Agent: d.Name, Source: d.Source,
				Text: fmt.Sprintf("agent %q is already defined in %s, which is used; rename one of them", d.Name, s.All[old].Path),
			})
			s.All = append(s.All, d)
			continue
		}
		if base, confines := trusted[d.Name]; confines && d.Untrusted {
			var ps []Problem
			d, ps = restricted(d, s.All[base])
			s.addProblems(ps...)
		}
		active[d.Name] = len(s.All)
		if !d.Untrusted {
			trusted[d.Name] = len(s.All)
		}
		s.All = append(s.All, d)
	}
}

// addProblems adds problems that concern several definitions.
func (s *Set) addProblems(ps ...Problem) {
	for i := range ps {
		ps[i].together = true
	}
	s.Problems = append(s.Problems, ps...)
}

// similarNames reports active names that only their exact spelling distinguishes.
func similarNames(active []Definition) []Problem {
	var out []Problem
	seen := make(map[string]Definition, len(active))
	for _, d := range active {
		key := fold(d.Name)
		if other, dup := seen[key]; dup {
			out = append(out, Problem{
				Path: d.Path, Line: 1, Agent: d.Name, Source: d.Source,
				Text: fmt.Sprintf("the name %q differs from %q (%s) only in case or separators; only the exact spelling tells them apart", d.Name, other.Name, other.Path),
			})
		}
		seen[key] = d
	}
	return out
}
