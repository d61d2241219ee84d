package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// mounts hide and fix names for the calling thread and what it starts.
type mounts struct {
	hidden []string // to be covered, the outer ones first
	shown  []string // bound back where something hidden covers them
	fixed  []string // bound to themselves and read-only; they exist
}

// make gives the thread a mount namespace and mounts there.
func (m *mounts) make() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts apart: %w", err)
	}
	for _, h := range m.hidden {
		if err := m.hide(h); err != nil {
			return fmt.Errorf("hide %s: %w", h, err)
		}
	}
	for _, f := range m.fixed {
		if err := fix(f); err != nil {
			return fmt.Errorf("fix %s: %w", f, err)
		}
	}
	return nil
}

const sealed = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// hide covers a path with an empty directory or file, but for what is shown below.
func (m *mounts) hide(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
	}
	open, err := m.hold(path)
	if err != nil {
		return err
	}
	defer closeAll(open)
	if err := unix.Mount("tmpfs", path, "tmpfs", sealed, "size=1m,mode=0755"); err != nil {
		return err
	}
	for _, o := range open {
		if err := o.bind(); err != nil {
			return fmt.Errorf("show %s: %w", o.path, err)
		}
	}
	return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|sealed, "")
}

// held is something that is still reachable when its path is covered.
type held struct {
	path string
	fd   int
	dir  bool
}

func closeAll(all []held) {
	for _, h := range all {
		unix.Close(h.fd)
	}
}

// hold opens what is shown below a path, the shortest first, so that each is bound into
// those above it.
func (m *mounts) hold(path string) (open []held, err error) {
	shown := slices.Clone(m.shown)
	slices.SortFunc(shown, func(a, b string) int { return len(a) - len(b) })
	for _, s := range shown {
		if s == path || !below(s, path) {
			continue
		}
		fd, err := unix.Open(s, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			closeAll(open)
			return nil, err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			closeAll(open)
			return nil, errors.Join(err, unix.Close(fd))
		}
		open = append(open, held{s, fd, st.Mode&unix.S_IFMT == unix.S_IFDIR})
	}
	return open, nil
}

// bind makes the path again and puts there what was held.
func (h held) bind() error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o755); err != nil {
		return err
	}
	if err := makeTarget(h.path, h.dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return unix.Mount("/proc/self/fd/"+strconv.Itoa(h.fd), h.path, "", unix.MS_BIND|unix.MS_REC, "")
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

// fix makes a path read-only. While it is a mount, its name cannot be replaced either.
func fix(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|mountFlags(path), "")
}

// mountFlags returns the flags of the mount at a path, which a remount has to repeat.
func mountFlags(path string) uintptr {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0
	}
	return uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME | unix.MS_RELATIME)
}

// mayMount tries to make a mount namespace on a thread that is thrown away.
func mayMount() (err error) {
	t := newThread()
	t.do(func() {
		if err = unix.Unshare(unix.CLONE_NEWNS); err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
		}
		if err == nil {
			err = unix.Mount("tmpfs", "/proc", "tmpfs", sealed, "size=1m")
		}
	})
	t.end()
	return err
}
