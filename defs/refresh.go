package defs

import (
	"reflect"
	"slices"
)

// Refresh checks whether anything that the last Load or Refresh read has changed, and
// returns the current set: the same pointer if nothing has. With an error it returns the
// last set, which remains in use.
func (l *Loader) Refresh() (*Set, error) {
	if l.set == nil {
		return l.Load()
	}
	changed := l.changed()
	if len(changed) == 0 {
		return l.set, nil
	}
	before := l.set
	if l.patch(changed) {
		return l.set, nil
	}
	after, err := l.Load()
	if err != nil || sameSet(before, after) {
		l.set = before
	}
	return l.set, err
}

func sameSet(a, b *Set) bool {
	return len(a.All) == len(b.All) && reflect.DeepEqual(a.Problems, b.Problems) && len(Diff(a, b)) == 0 &&
		slices.EqualFunc(a.All, b.All, func(x, y Definition) bool { return x.equal(&y) })
}

// changed returns the paths whose state has changed.
func (l *Loader) changed() []string {
	var paths []string
	for path, d := range l.deps {
		if !d.same(statFile(path)) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// patch replaces edited definitions in the set, without walking and joining everything
// again. It returns false and changes nothing if a change may concern more than one
// definition.
func (l *Loader) patch(paths []string) bool {
	var edits []*edit
	for _, path := range paths {
		e := l.edit(path)
		if e == nil {
			return false
		}
		edits = append(edits, e)
	}
	for _, e := range edits {
		l.cache[e.key], l.deps[e.key.path] = e.after, e.after.dep
		if !e.before.d.equal(&e.after.d) || !reflect.DeepEqual(e.before.problems, e.after.problems) {
			l.set = l.set.with(e)
		}
	}
	return true
}

// edit is one definition before and after its file was written.
type edit struct {
	key           fileKey
	before, after *parsed
}

// edit reads a changed file again. It returns nil if that is not enough.
func (l *Loader) edit(path string) *edit {
	key := l.byPath[path] // none, if the path is no definition or several
	before := l.cache[key]
	now := statFile(path)
	if before == nil || !before.ok || now.info == nil || !now.info.Mode().IsRegular() || l.set.untrusted {
		return nil
	}
	after := before.root.parse(path, l.o.Check)
	after.dep, after.root = now, before.root
	if !after.ok || after.d.Name != before.d.Name {
		return nil
	}
	return &edit{key, before, after}
}

// with returns the set after an edit. s is not changed, and what is the same is
// shared: of many definitions, copying is most of the work.
func (s *Set) with(e *edit) *Set {
	out, before := *s, &e.before.d
	for i := range s.All { // a definition is large: no function by value
		if before.sameFile(&s.All[i]) {
			out.All = replaced(s.All, i, e.after.d)
			break
		}
	}
	if i, ok := s.find(before.Name); ok && before.sameFile(&s.Active[i]) {
		out.Active = replaced(s.Active, i, e.after.d)
	}
	if !reflect.DeepEqual(e.before.problems, e.after.problems) {
		out.Problems = slices.DeleteFunc(slices.Clone(s.Problems), func(p Problem) bool { return p.Path == before.Path && !p.together })
		out.Problems = append(out.Problems, e.after.problems...)
		sortProblems(out.Problems)
	}
	return &out
}

// replaced returns a copy of list with another definition at i.
func replaced(list []Definition, i int, d Definition) []Definition {
	out := make([]Definition, len(list))
	copy(out, list)
	out[i] = d
	return out
}

func (d *Definition) sameFile(o *Definition) bool {
	return d.Path == o.Path && d.Name == o.Name && d.Source == o.Source
}
