package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// findBwrap returns the bwrap of the system: a program that root owns and nobody else
// writes. One that a directory of a user provides is never taken.
func findBwrap() string {
	for _, path := range []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"} {
		if path := real(path); ofSystem(path) {
			return path
		}
	}
	return ""
}

// ofSystem reports a program that only root can change, with the directories around it.
func ofSystem(path string) bool {
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 || info.Mode()&0o022 != 0 {
			return false
		}
		if path == "/" {
			return true
		}
	}
}

// bwrapArgs returns the arguments that make bwrap give a command the mounts of a profile,
// but for the command.
func bwrapArgs(bwrap string, p Profile, fixed []string) []string {
	args := []string{bwrap, "--die-with-parent", "--unshare-user"}
	add := func(a ...string) { args = append(args, a...) }
	if p.Name == Open {
		add("--dev-bind", "/", "/")
	} else {
		add("--unshare-pid")
		for _, root := range outermost(append(slices.Clone(p.Read), p.Shown...)) {
			if nearest(p.writable(), root) == "" {
				add(readOnly(root)...)
			}
		}
		add("--proc", "/proc")
		for name, to := range map[string]string{"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
			add("--symlink", "/proc/self/"+to, "/dev/"+name)
		}
		for _, root := range p.writable() {
			add("--bind-try", root, root)
		}
	}
	if p.Name != Inspect {
		for _, dir := range p.ways() {
			add("--bind-try", dir, dir)
		}
	}
	for _, h := range p.covers() {
		add(cover(h, p)...)
	}
	paths := union(fixed, p.Free)
	slices.SortStableFunc(paths, func(a, b string) int { return len(a) - len(b) })
	for _, path := range paths {
		if slices.Contains(fixed, path) {
			add("--ro-bind", path, path)
		} else if nearest(fixed, path) != "" {
			add("--bind-try", path, path)
		}
	}
	return args
}

// readOnly binds a root. A link stays a link, so that what it leads to is there once.
func readOnly(root string) []string {
	if to, err := os.Readlink(root); err == nil {
		return []string{"--symlink", to, root}
	}
	if _, err := os.Stat(root); err != nil || below(root, "/proc") {
		return nil // it is not there, or not for this user, or there is another
	}
	if below(root, "/dev") {
		return []string{"--dev-bind", root, root} // a terminal system of its own takes bwrap longest
	}
	return []string{"--ro-bind", root, root}
}

// cover hides a path, but for what is shown below it.
func cover(path string, p Profile) []string {
	info, err := os.Lstat(path)
	if err != nil || nearest(p.Read, path) == "" && nearest(p.writable(), path) == "" {
		return nil // it is not there
	}
	if !info.IsDir() {
		return []string{"--ro-bind", cmp.Or(p.Mask, "/dev/null"), path}
	}
	args := []string{"--tmpfs", path}
	for _, s := range slices.Sorted(slices.Values(p.Shown)) {
		if s != path && below(s, path) {
			args = append(args, "--bind-try", s, s)
		}
	}
	return append(args, "--remount-ro", path)
}
