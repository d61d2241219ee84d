package defs

import "slices"

// Status is the status of a definition after loading.
type Status string

// The statuses.
const (
	StatusActive   Status = "active"
	StatusShadowed Status = "shadowed" // another one with the same name is used
	StatusFailed   Status = "failed"   // it could not be loaded
)

// Entry is one definition with its status. Of a failed one only Name, which may be empty,
// Source and Path are set.
type Entry struct {
	Definition
	Status Status
	// By is the path of the definition that is used instead of a shadowed one.
	By string
	// Problems are its problems, in the order of the file.
	Problems []Problem
}

// Entries returns everything that was found: the definitions, lowest rank
// first, and then the failed ones by path.
func (s *Set) Entries() []Entry {
	about := map[string][]Problem{}
	for _, p := range s.Problems {
		about[p.Path] = append(about[p.Path], p)
	}
	out := make([]Entry, 0, len(s.All))
	for _, d := range s.All {
		e := Entry{Definition: d, Status: StatusActive, Problems: of(d.Name, about[d.Path])}
		if a, ok := s.exact(d.Name); ok && (a.Path != d.Path || a.Source != d.Source) {
			e.Status, e.By = StatusShadowed, a.Path
		}
		out = append(out, e)
	}
	for _, p := range s.Failed() {
		out = append(out, Entry{
			Definition: Definition{Name: p.Agent, Source: p.Source, Path: p.Path},
			Status:     StatusFailed, Problems: of(p.Agent, about[p.Path]),
		})
	}
	return out
}

// of returns the problems of one agent: a file may hold several.
func of(name string, ps []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Agent != name })
}

// Failed returns the fatal problems.
func (s *Set) Failed() []Problem {
	return slices.DeleteFunc(slices.Clone(s.Problems), func(p Problem) bool { return !p.Fatal })
}

// Without returns the set without the types for which denied returns true, as rules such as
// Agent(type) deny them. It does not change s.
func (s *Set) Without(denied func(name string) bool) *Set {
	out := *s
	out.Active = slices.DeleteFunc(slices.Clone(s.Active), func(d Definition) bool { return denied(d.Name) })
	return &out
}

// Change is one difference between two sets.
type Change struct {
	// Name is the type, and Path where it is defined, or was.
	Name, Path string
	// Kind is added, changed or removed.
	Kind string
}

// Diff returns the changes of the active definitions, by name.
func Diff(before, after *Set) []Change {
	var out []Change
	i, j := 0, 0
	for i < len(before.Active) || j < len(after.Active) {
		switch {
		case j == len(after.Active) || i < len(before.Active) && before.Active[i].Name < after.Active[j].Name:
			out = append(out, Change{before.Active[i].Name, before.Active[i].Path, "removed"})
			i++
		case i == len(before.Active) || after.Active[j].Name < before.Active[i].Name:
			out = append(out, Change{after.Active[j].Name, after.Active[j].Path, "added"})
			j++
		default:
			if !before.Active[i].equal(&after.Active[j]) {
				out = append(out, Change{after.Active[j].Name, after.Active[j].Path, "changed"})
			}
			i, j = i+1, j+1
		}
	}
	return out
}
