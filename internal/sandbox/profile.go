package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// Name is the name of a profile.
type Name string

// The profiles, each within the next.
const (
	Inspect Name = "inspect"
	Edit    Name = "edit"
	Open    Name = "open"
)

// Names returns the profiles, the narrowest first.
func Names() []Name { return []Name{Inspect, Edit, Open} }

// Profile is what a command may reach. All paths are absolute and clean. Of Hidden
// and Shown the one nearest to a path decides, and Shown where both name it.
type Profile struct {
	Name  Name
	Read  []string // what may be read and executed, with all below
	Write []string // what may be changed besides, with all below
	// Hidden may be neither read nor changed, also below Read and Write.
	Hidden []string
	// Shown may be read, also below Hidden, and changed below Write.
	Shown []string
	// Denied are those of Hidden and Fixed that rules of the user name.
	Denied []string
	// Mask replaces hidden files: a file that no process can open. Empty: they look empty.
	Mask string
	// Fixed may be read and neither changed nor made, also below Write.
	Fixed []Fixed
	// Free may be changed, also below Fixed, if there are mounts. The nearest decides.
	Free []string

	Network bool // may use the network
	// Outlet: without Network, the command has a network of its own with nothing in it but
	// a port, which leads to Process.Outlet. Its environment names that as its proxy.
	Outlet  bool
	Sockets bool // may use Unix sockets
	// Wider is a sentence about what lets a command under Edit do more; "" is a rule or an
	// answer.
	Wider string
	// Temp is the private temporary directory: TMPDIR of the command and writable, with its
	// caches. Empty: the command has that of its environment.
	Temp   string
	Limits Limits
	Totals Totals

	last *lastRules // may be nil
}

// cacheName is where below Temp commands have their caches, as they cannot change those in
// the home.
const cacheName = ".cache"

// Fixed is a name that other programs obey.
type Fixed struct {
	Path string
	Dir  bool // where it does not exist, a directory replaces it, not a file
}

// Limits bound each process of a command. Zero does not bound.
type Limits struct {
	CPU       uint64 // seconds
	FileSize  uint64 // bytes
	OpenFiles uint64
	Memory    uint64 // bytes of address space
}

// MayRead reports whether the profile lets a command read a path.
func (p Profile) MayRead(path string) bool {
	shown, hidden := nearest(p.Shown, path), nearest(p.Hidden, path)
	if hidden != "" && len(hidden) > len(shown) {
		return false
	}
	return shown != "" || nearest(p.Read, path) != "" || nearest(p.writable(), path) != ""
}

// MayWrite reports whether the profile lets a command change or make a path.
func (p Profile) MayWrite(path string) bool {
	if !p.MayRead(path) || p.fixes(path) {
		return false
	}
	return nearest(p.writable(), path) != ""
}

func (p Profile) writable() []string {
	if p.Temp == "" {
		return p.Write
	}
	return append(slices.Clone(p.Write), p.Temp)
}

// covers returns what has to be covered so that nothing hidden is seen, the outer ones
// first: what lies below another is covered with it, unless it is shown in between.
func (p Profile) covers() []string {
	hidden := slices.DeleteFunc(union(p.Hidden, nil), func(h string) bool { return slices.Contains(p.Shown, h) })
	return slices.DeleteFunc(slices.Clone(hidden), func(h string) bool {
		up := nearest(hidden, filepath.Dir(h))
		return up != "" && len(up) >= len(nearest(p.Shown, h))
	})
}

// Within returns the profile that allows what both do: a child's within its parent's.
func (p Profile) Within(parent Profile) Profile {
	child := p
	p.Read = common(append(slices.Clone(child.Read), child.writable()...), append(slices.Clone(parent.Read), parent.writable()...))
	p.Write = common(child.Write, parent.writable())
	p.Hidden, p.Denied = union(child.Hidden, parent.Hidden), union(child.Denied, parent.Denied)
	p.Shown = slices.DeleteFunc(union(child.Shown, parent.Shown), func(s string) bool { return !child.MayRead(s) || !parent.MayRead(s) })
	p.Fixed = append(slices.Clone(child.Fixed), parent.Fixed...)
	p.Free = slices.DeleteFunc(union(child.Free, parent.Free), func(f string) bool { return !child.MayWrite(f) || !parent.MayWrite(f) })
	p.Network, p.Sockets = child.Network && parent.Network, child.Sockets && parent.Sockets
	p.Outlet = !p.Network && (child.Network || child.Outlet) && (parent.Network || parent.Outlet)
	if child.Temp != "" && !parent.MayWrite(child.Temp) {
		p.Temp = ""
	}
	p.Limits, p.Totals = child.Limits.within(parent.Limits), child.Totals.within(parent.Totals)
	if slices.Index(Names(), parent.Name) < slices.Index(Names(), child.Name) {
		p.Name = parent.Name
	}
	return p
}

func (l Limits) within(o Limits) Limits {
	return Limits{
		CPU: least(l.CPU, o.CPU), FileSize: least(l.FileSize, o.FileSize),
		OpenFiles: least(l.OpenFiles, o.OpenFiles), Memory: least(l.Memory, o.Memory),
	}
}

// common returns the roots that lie in one of a and in one of b.
func common(a, b []string) []string {
	var out []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case below(x, y):
				out = append(out, x)
			case below(y, x):
				out = append(out, y)
			}
		}
	}
	return union(out, nil)
}

// union returns what is in a or in b, sorted.
func union[T cmp.Ordered](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// nearest returns the longest of dirs that path is or lies below, or "".
func nearest(dirs []string, path string) string {
	found := ""
	for _, d := range dirs {
		if len(d) > len(found) && below(path, d) {
			found = d
		}
	}
	return found
}

// below reports whether path is dir or lies below it. Both are clean.
func below(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// real follows the links of a path as far as it exists.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if dir == path || base == "" {
		return path
	}
	return filepath.Join(real(filepath.Clean(dir)), base)
}
