package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// group is a control group of one command, in which the kernel holds all of its processes
// to their totals and ends them at once.
type group struct{ dir string }

// groupPrefix begins the names of groups of commands; ownGroup is the group into which this
// process moves, since one with limits for others has no processes of its own.
const (
	groupPrefix = "swarm-"
	ownGroup    = "swarm.own"
)

// groupParent returns the directory in which this process may make groups with limits, or
// why there is none.
func groupParent() (string, error) {
	mount, err := groupMount()
	if err != nil {
		return "", err
	}
	own, err := groupOf("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(mount, own)
	if filepath.Base(dir) == ownGroup { // another swarm has moved there
		dir = filepath.Dir(dir)
	}
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(dir+"/cgroup.procs", unix.W_OK) != nil {
		return "", fmt.Errorf("this user may not divide the control group %s", dir)
	}
	if !hasControllers(dir + "/cgroup.controllers") {
		return "", fmt.Errorf("the control group %s has no limits of memory and processes", dir)
	}
	if !hasControllers(dir + "/cgroup.subtree_control") {
		if err := divide(dir); err != nil {
			return "", err
		}
	}
	removeEmptyGroups(dir)
	return dir, nil
}

// groupMount returns where control groups of the second version are mounted.
func groupMount() (string, error) {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir, nil
		}
	}
	return "", errors.New("the system has no control groups of the second version")
}

// groupOf returns the group that a file of /proc names.
func groupOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("find the control group of this process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, nil
		}
	}
	return "", errors.New("this process has no control group of the second version")
}

func hasControllers(file string) bool {
	text, err := os.ReadFile(file)
	all := strings.Fields(string(text))
	return err == nil && slices.Contains(all, "memory") && slices.Contains(all, "pids")
}

// divide lets groups below dir have limits, which takes that no process is in dir itself.
// This process moves; others are left alone, and then it is an error.
func divide(dir string) (err error) {
	text, err := os.ReadFile(dir + "/cgroup.procs")
	if err != nil {
		return fmt.Errorf("read the control group %s: %w", dir, err)
	}
	if me := strconv.Itoa(os.Getpid()); strings.TrimSpace(string(text)) != me {
		return fmt.Errorf("other programs are in the control group %s; to have one of its own start swarm with: systemd-run --user --scope -p Delegate=yes swarm", dir)
	}
	own := filepath.Join(dir, ownGroup)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make a control group: %w", err)
	}
	if err := put(own, "cgroup.procs", "0"); err != nil {
		return err
	}
	if err := put(dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return errors.Join(err, put(dir, "cgroup.procs", "0"), os.Remove(own))
	}
	return nil
}

// removeEmptyGroups removes what a swarm that was killed has left.
func removeEmptyGroups(dir string) {
	left, _ := filepath.Glob(dir + "/" + groupPrefix + "*") // the pattern is well formed
	for _, g := range left {
		_ = unix.Rmdir(g) // one in use cannot be removed
	}
}

func put(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("set %s of a control group: %w", name, err)
	}
	return nil
}

// newGroup makes a group below a directory, with limits.
func newGroup(parent string, limits Totals) (_ *group, err error) {
	dir, err := os.MkdirTemp(parent, groupPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	g := &group{dir}
	if limits.Memory > 0 {
		err = errors.Join(put(dir, "memory.max", strconv.FormatUint(limits.Memory, 10)), put(dir, "memory.oom.group", "1"))
	}
	if limits.Processes > 0 {
		err = errors.Join(err, put(dir, "pids.max", strconv.Itoa(limits.Processes)))
	}
	if err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// enter adds the step by which the launcher moves into the group.
func (g *group) enter(l *launcher) error {
	f, err := os.OpenFile(filepath.Join(g.dir, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open a control group: %w", err)
	}
	l.add("enter a control group", unix.SYS_WRITE, l.file(f), l.place([]byte("0")), num(1))
	return nil
}

// exceeded says in a sentence what the kernel has kept the group from, or "".
func (g *group) exceeded(limits Totals) string {
	if limits.Memory > 0 && g.count("memory.events", "oom_kill") > 0 {
		return limits.exceededBy(Totals{Memory: limits.Memory + 1<<20})
	}
	if limits.Processes > 0 && g.count("pids.events", "max") > 0 {
		return limits.exceededBy(Totals{Processes: limits.Processes + 1})
	}
	return ""
}

// count returns a number of a file of the group, or 0.
func (g *group) count(file, name string) int {
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			n, _ := strconv.Atoi(string(bytes.TrimSpace(rest))) // the kernel writes numbers
			return n
		}
	}
	return 0
}

// kill kills every process in the group.
func (g *group) kill() error {
	if g == nil {
		return nil
	}
	if err := put(g.dir, "cgroup.kill", "1"); err != nil && !errors.Is(err, os.ErrNotExist) { // it came with Linux 5.14
		return err
	}
	return nil
}

// emptyTimeout is how long killed processes may take to end.
const emptyTimeout = time.Second

// remove removes the group when no process is in it any more. One in which something goes
// on is left.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	err := unix.Rmdir(g.dir)
	if errors.Is(err, unix.EBUSY) {
		if err := g.awaitEmpty(emptyTimeout); err != nil {
			return err
		}
		err = unix.Rmdir(g.dir)
	}
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EBUSY) {
		return nil
	}
	return fmt.Errorf("remove a control group: %w", err)
}

// awaitEmpty returns when no process is in the group, or at the latest after a time.
func (g *group) awaitEmpty(most time.Duration) error {
	f, err := os.Open(filepath.Join(g.dir, "cgroup.events"))
	if err != nil {
		return fmt.Errorf("wait for the end of a control group: %w", err)
	}
	defer f.Close()
	for end := time.Now().Add(most); time.Now().Before(end); {
		text := make([]byte, 256)
		n, err := f.ReadAt(text, 0) // which also prepares the next wait
		if n == 0 && err != nil {
			return fmt.Errorf("wait for the end of a control group: %w", err)
		}
		if bytes.Contains(text[:n], []byte("populated 0")) {
			return nil
		}
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}, int(time.Until(end).Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for the end of a control group: %w", err)
		}
	}
	return nil
}
