package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	readAll   = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	writeAll  = writeFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	network = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	scopes  = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
)

// ruleset is what Landlock is to allow: of the rights that are handled, those that the
// rules give.
type ruleset struct {
	files, net, scoped uint64
	rules              []rule
}

// add gives rights to paths, with all below.
func (r *ruleset) add(access uint64, paths ...string) {
	for _, p := range paths {
		r.rules = append(r.rules, rule{p, access})
	}
}

// landlockABI returns the version of Landlock, or why there is none.
func landlockABI() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// threadsSignalEachOther reports that the kernel lets the threads of one process signal
// each other across scopes, as the Go runtime has to.
func threadsSignalEachOther() bool {
	fixed, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	return errno == 0 && fixed&(1<<1) != 0
}

// known removes the rights that an older Landlock does not know.
func (r *ruleset) known(abi int) {
	for since, right := range map[int]uint64{
		2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		if abi < since {
			r.files &^= right
		}
	}
	if abi < 4 {
		r.net = 0
	}
	if abi < 6 {
		r.scoped = 0
	}
}

func (r *ruleset) handled() handled { return handled{r.files, r.net, r.scoped} }

// empty reports that the rules restrict nothing.
func (r *ruleset) empty() bool { return r.files|r.net|r.scoped == 0 }

// restrict puts the calling thread under the rules, for good. They may be those of last.
func (r *ruleset) restrict(abi int, last *lastRules) (err error) {
	fd, err := last.open(r, abi)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return fmt.Errorf("restrict a thread with Landlock: %w", errno)
	}
	return nil
}

// open returns a descriptor of the rules, and what the path of each was.
func (r *ruleset) open(abi int) (_ int, are []inode, err error) {
	r.known(abi)
	attr := r.handled()
	size := unsafe.Sizeof(attr)
	switch {
	case abi < 4:
		size = 8
	case abi < 6:
		size = 16
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, nil, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	are = make([]inode, len(r.rules))
	for i, one := range r.rules {
		if are[i], err = one.addTo(fd, r.files); err != nil {
			return 0, nil, errors.Join(err, unix.Close(int(fd)))
		}
	}
	return int(fd), are, nil
}

// openat opens the path of a rule through no link, so that the rule is about what the
// path was when the profile was made. Where a filter forbids openat2, only a link at the end
// of the path is refused.
func (r rule) openat() (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, r.path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	return fd, err
}

// addTo adds the rule to a ruleset. A path that is not there, or that leads through a
// link, gives nothing and is none.
func (r rule) addTo(ruleset uintptr, handled uint64) (is inode, err error) {
	fd, err := r.openat()
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return inode{}, nil
	}
	if err != nil {
		return inode{}, fmt.Errorf("open %s for a Landlock rule: %w", r.path, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return inode{}, fmt.Errorf("open %s for a Landlock rule: %w", r.path, err)
	}
	is = inode{dev: st.Dev, ino: st.Ino}
	access := r.access & handled
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return inode{}, nil
	default:
		access &= readFile | writeFile
	}
	if access == 0 {
		return is, nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return inode{}, fmt.Errorf("add a Landlock rule for %s: %w", r.path, errno)
	}
	return is, nil
}

// around returns the paths that together are a root without some names below it, as
// the file system is now; whole reports that the root has none of them.
func around(root string, without []string) (paths []string, whole bool) {
	if nearest(without, root) != "" {
		return nil, false
	}
	if !slices.ContainsFunc(without, func(w string) bool { return below(w, root) }) {
		return []string{root}, true
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			part, _ := around(filepath.Join(root, e.Name()), without)
			paths = append(paths, part...)
		}
	}
	return paths, false
}
