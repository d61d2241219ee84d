package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

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
	dirs := crowded(r.rules)
	fd, are, err := r.open(abi)
	if err != nil {
		return err
	}
	old := l.file
	l.dirs = dirs
	l.file, l.are, l.has, l.rules = os.NewFile(uintptr(fd), "landlock"), are, r.handled(), slices.Clone(r.rules)
	if old == nil {
		return nil
	}
	return old.Close()
}

// crowded returns the directories that hold the paths of many rules, as they are now. One
// that has changed just now is left out: its next change might leave no other time.
func crowded(rules []rule) map[string]inode {
	const many, settled = 8, 2 * time.Second
	count, dirs := map[string]int{}, map[string]inode{}
	for _, one := range rules {
		count[filepath.Dir(one.path)]++
	}
	for dir, n := range count {
		is := directory(dir)
		if age := time.Since(time.Unix(0, is.changed)); n >= many && is.ino != 0 && age > settled {
			dirs[dir] = is
		}
	}
	return dirs
}

func directory(path string) inode {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return inode{}
	}
	return inode{st.Dev, st.Ino, max(st.Ctim.Nano(), st.Mtim.Nano())}
}

// same reports whether the paths of the rules lead to what they led to.
func (l *lastRules) same() bool {
	for dir, was := range l.dirs {
		if directory(dir) != was {
			return false
		}
	}
	for i, one := range l.rules {
		if _, ok := l.dirs[filepath.Dir(one.path)]; ok {
			continue // no entry of it has been replaced
		}
		var st unix.Stat_t
		is := inode{}
		if unix.Lstat(one.path, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK {
			is = inode{dev: st.Dev, ino: st.Ino}
		}
		if is != l.are[i] {
			return false
		}
	}
	return true
}
