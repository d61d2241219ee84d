package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// mounts hide and fix names for a command.
type mounts struct {
	users  bool     // in a user namespace, as this user may not mount otherwise
	hidden []string // to be covered, the outer ones first
	shown  []string // bound back where something hidden covers them
	fixed  []string // bound to themselves and read-only; they exist
	free   []string // bound back where something fixed covers them
	pinned []string // bound to themselves, so that they keep their names; the outer ones first
	mask   string   // bound over hidden files
	sealed bool     // all is read-only but what is writable
	// writable stays as it is where the rest is sealed.
	writable []string
}

// steps adds the calls that make the mounts in a namespace of their own.
func (m *mounts) steps(l *launcher) error {
	if m.users {
		l.enterUserNamespace(os.Geteuid(), os.Getegid())
	} else {
		l.add("make a mount namespace", unix.SYS_UNSHARE, num(unix.CLONE_NEWNS))
	}
	l.mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	for _, p := range m.pinned {
		l.mount(p, p, "", unix.MS_BIND|unix.MS_REC, "")
		l.tolerate(unix.ENOENT)
	}
	for _, h := range m.hidden {
		if err := m.hide(l, h); err != nil {
			return fmt.Errorf("hide %s: %w", h, err)
		}
	}
	if m.sealed {
		if err := m.seal(l); err != nil {
			return err
		}
	}
	return m.fix(l)
}

// fix makes the fixed names read-only and what is free below them writable again, the
// shorter paths first.
func (m *mounts) fix(l *launcher) error {
	free, err := m.freed(l)
	if err != nil {
		return err
	}
	paths := union(m.fixed, slices.Collect(maps.Keys(free)))
	slices.SortStableFunc(paths, func(a, b string) int { return len(a) - len(b) })
	for _, path := range paths {
		if step, ok := free[path]; ok {
			l.attach(step, path)
		}
		if !slices.Contains(m.fixed, path) {
			continue
		}
		l.mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
		l.tolerate(unix.ENOENT)
		l.readOnly(path) // while it is a mount, its name cannot be replaced either
		l.tolerate(unix.ENOENT)
	}
	return nil
}

// freed opens what is free below something fixed, by path.
func (m *mounts) freed(l *launcher) (map[string]int, error) {
	open := map[string]int{}
	for _, path := range m.free {
		if nearest(m.fixed, path) == "" {
			continue
		}
		there, err := exists(path)
		if err != nil {
			return nil, fmt.Errorf("keep %s writable: %w", path, err)
		}
		if there {
			open[path] = l.openTree(path)
		}
	}
	return open, nil
}

// exists reports whether a path is there for this user.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}

// openTree adds the opening of a copy of what is mounted at a path and below.
func (l *launcher) openTree(path string) (step int) {
	flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	return l.add("open "+path, unix.SYS_OPEN_TREE, num(unix.AT_FDCWD), l.text(path), num(flags))
}

// attach adds the mount of what a step has opened.
func (l *launcher) attach(step int, path string) {
	l.steps[step].store = l.add("keep "+path+" writable", unix.SYS_MOVE_MOUNT,
		value{}, l.place([]byte{0}), num(unix.AT_FDCWD), l.text(path), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// seal makes everything read-only but what is writable. Landlock does so for what files
// hold, but knows neither their modes, owners and times nor attributes.
func (m *mounts) seal(l *launcher) error {
	var paths []string
	var open []int
	for _, path := range outermost(m.writable) {
		there, err := exists(path)
		if err != nil {
			return fmt.Errorf("keep %s writable: %w", path, err)
		}
		if there { // or the command does not write it either
			paths, open = append(paths, path), append(open, l.openTree(path))
		}
	}
	l.readOnly("/")
	for i, path := range paths {
		l.attach(open[i], path)
	}
	return nil
}

// enterUserNamespace adds the calls that make a user namespace in which the user and the
// group are who they are outside.
func (l *launcher) enterUserNamespace(uid, gid int) {
	l.add("make a user namespace", unix.SYS_UNSHARE, num(unix.CLONE_NEWNS|unix.CLONE_NEWUSER))
	l.write("/proc/self/setgroups", "deny")
	l.write("/proc/self/uid_map", strconv.Itoa(uid)+" "+strconv.Itoa(uid)+" 1")
	l.write("/proc/self/gid_map", strconv.Itoa(gid)+" "+strconv.Itoa(gid)+" 1")
	l.closeOpened() // a mount with a file that is open for writing cannot become read-only
}

const sealed = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// hide covers a path with an empty directory or file, but for what is shown below. What
// has gone when the launcher comes to it is passed over, as what was not there before.
func (m *mounts) hide(l *launcher, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, os.ErrPermission):
		return nil // the command does not reach it either
	case err != nil:
		return err
	case !info.IsDir():
		m.hideFile(l, path)
		return nil
	}
	open, err := m.hold(l, path)
	if err != nil {
		return err
	}
	l.mount("tmpfs", path, "tmpfs", sealed, "size=1m,mode=0755")
	l.tolerate(unix.ENOENT)
	for _, o := range open {
		o.bind(l, path)
	}
	l.mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|sealed, "")
	l.tolerate(unix.ENOENT)
	return nil
}

// hideFile puts the mask on a file. The mask is opened first, so that it cannot be what has
// gone.
func (m *mounts) hideFile(l *launcher, path string) {
	mask := cmp.Or(m.mask, "/dev/null")
	open := l.add("open "+mask, unix.SYS_OPEN_TREE, num(unix.AT_FDCWD), l.text(mask), num(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW))
	l.steps[open].store = l.add("mount on "+path, unix.SYS_MOVE_MOUNT,
		value{}, l.place([]byte{0}), num(unix.AT_FDCWD), l.text(path), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
	l.tolerate(unix.ENOENT)
}

// held is something that is still reachable when its path is covered.
type held struct {
	path string
	step int // the step whose result is a file of it
	dir  bool
}

// hold opens what is shown below a path, the shortest first, so that each is bound into
// those above it.
func (m *mounts) hold(l *launcher, path string) (open []held, err error) {
	shown := slices.Clone(m.shown)
	slices.SortFunc(shown, func(a, b string) int { return len(a) - len(b) })
	for _, s := range shown {
		if s == path || !below(s, path) {
			continue
		}
		info, err := os.Lstat(s)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
			continue
		case err != nil:
			return nil, err
		}
		flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW
		step := l.add("open "+s, unix.SYS_OPEN_TREE, num(unix.AT_FDCWD), l.text(s), num(flags))
		open = append(open, held{s, step, info.IsDir()})
	}
	return open, nil
}

// bind makes the path again below the one that covers it, and puts there what was held.
func (h held) bind(l *launcher, cover string) {
	var dirs []string
	for dir := filepath.Dir(h.path); dir != cover; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	if h.dir {
		dirs = append([]string{h.path}, dirs...)
	}
	for _, dir := range slices.Backward(dirs) {
		l.add("make "+dir, unix.SYS_MKDIRAT, num(unix.AT_FDCWD), l.text(dir), num(0o755))
		l.tolerate(unix.EEXIST)
	}
	if !h.dir {
		l.add("make "+h.path, unix.SYS_MKNODAT, num(unix.AT_FDCWD), l.text(h.path), num(unix.S_IFREG|0o600))
		l.tolerate(unix.EEXIST)
	}
	l.steps[h.step].store = l.add("show "+h.path, unix.SYS_MOVE_MOUNT,
		value{}, l.place([]byte{0}), num(unix.AT_FDCWD), l.text(h.path), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

func makeTarget(path string, dir bool) error {
	if dir {
		return os.Mkdir(path, 0o755)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// mayMount tries whether a launcher can make mounts here.
func mayMount(users bool) error {
	l := &launcher{}
	m := &mounts{users: users, hidden: []string{"/proc"}}
	if err := m.steps(l); err != nil {
		return err
	}
	return l.try()
}
