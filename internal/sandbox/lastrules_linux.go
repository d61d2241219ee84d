package sandbox

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// open returns a descriptor of the ruleset: of the last one, if that has the same rules and
// their paths still lead to what it was made of. It keeps those files from being replaced
// under the same number.
func (l *lastRules) open(r *ruleset, abi int) (fd int, err error) {
	if l == nil {
		fd, _, err = r.open(abi)
		return fd, err
	}
	r.known(abi)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.has != r.handled() || !slices.Equal(l.rules, r.rules) || !l.same() {
		if err := l.renew(r, abi); err != nil {
			return 0, err
		}
	}
	fd, err = unix.FcntlInt(l.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("share a Landlock ruleset: %w", err)
	}
	return fd, nil
}

func (l *lastRules) renew(r *ruleset, abi int) error {
	fd, are, err := r.open(abi)
	if err != nil {
		return err
	}
	old := l.file
	l.file, l.are, l.has, l.rules = os.NewFile(uintptr(fd), "landlock"), are, r.handled(), slices.Clone(r.rules)
	if old == nil {
		return nil
	}
	return old.Close()
}

// same reports whether the paths of the rules lead to what they led to.
func (l *lastRules) same() bool {
	for i, one := range l.rules {
		var st unix.Stat_t
		is := inode{}
		if unix.Lstat(one.path, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK {
			is = inode{st.Dev, st.Ino}
		}
		if is != l.are[i] {
			return false
		}
	}
	return true
}
