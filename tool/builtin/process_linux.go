package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sessionAttr puts a command into a session of its own and has the kernel kill
// the shell if the runtime dies.
func sessionAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitEnd returns when a child has ended, and leaves it uncollected so that
// its number, which is that of its group, stays taken.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// killMarked kills every process of the command: those of its scope where the kernel
// keeps one, else those that carry its mark in their environment or hold its lifeline.
func (p *process) killMarked(h *processSearch) error {
	if p.box.Scoped() {
		return p.killScope(h)
	}
	env := []byte("SWARM_CALL=" + p.mark + "\x00")
	pipe, err := pipeName(p.lifeline)
	if err != nil {
		return err
	}
	shell := p.cmd.Process.Pid
	return h.killMatching(func(pid int) match {
		switch m := hasEnv(pid, env); {
		case pid == shell:
			return stranger // the signal to the group ends the shell
		case m == marked || holds(pid, pipe):
			return marked
		case m == unclear && pid > shell:
			return unclear // a number below the shell's is an older process
		}
		return stranger
	})
}

// killScope kills the processes of the command's scope, other than the shell, which is
// collected elsewhere.
func (p *process) killScope(h *processSearch) error {
	h.found, h.unclear = 0, 0
	killed, err := p.box.KillAll()
	for _, pid := range killed {
		if pid != p.cmd.Process.Pid {
			h.found++
			h.killed[pid] = true
			reap(pid)
		}
	}
	return err
}

// match reports whether a process belongs to the command.
type match int

const (
	stranger match = iota
	unclear        // it has no environment, temporarily or for good
	marked
)

// killMatching kills the processes that match, other than this one, and counts them.
func (h *processSearch) killMatching(is func(pid int) match) error {
	h.found, h.unclear = 0, 0
	pids, err := allProcesses()
	if err != nil {
		return fmt.Errorf("find remaining processes: %w", err)
	}
	var errs []error
	for _, pid := range pids {
		switch is(pid) {
		case unclear:
			h.unclear++
		case marked:
			h.found++
			killed, err := killIf(pid, is)
			if killed {
				h.killed[pid] = true
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// allProcesses lists the numbers of all processes but this one.
func allProcesses() (pids []int, err error) {
	procs, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := procs.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, errors.Join(err, procs.Close())
}

// killIf opens a handle of a process, checks that the process matches, and kills it. The
// handle refers to the process and not to its number, so that a reused number is safe.
func killIf(pid int, is func(pid int) match) (killed bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return false, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return killSame(pid, is)
	case err != nil:
		return false, fmt.Errorf("open a handle of process %d: %w", pid, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	if matchOutsideFork(pid, is) != marked {
		return false, nil
	}
	err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("kill process %d: %w", pid, err)
	}
	reap(pid)
	return true, nil
}

// matchOutsideFork calls is while no child of this process is between fork and exec: such a
// child still has all descriptors of this process, and would match.
func matchOutsideFork(pid int, is func(pid int) match) match {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return is(pid)
}

// killSame is killIf for kernels without process handles: the start time distinguishes the
// process from a later one with the same number.
func killSame(pid int, is func(pid int) match) (bool, error) {
	start, err := startTime(pid)
	if err != nil || matchOutsideFork(pid, is) != marked {
		return false, nil
	}
	if again, err := startTime(pid); err != nil || again != start {
		return false, nil
	}
	err = unix.Kill(pid, unix.SIGKILL)
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	reap(pid)
	return err == nil, err
}

// reap collects a killed process if it has become a child of this process, as in a container
// whose first process is the runtime. Otherwise the wait fails, and init collects it.
func reap(pid int) {
	for range 50 {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if got == pid || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// hasEnv reports whether the environment with which a process started has an entry,
// including the NUL at its end. A process that cannot be read does not match.
func hasEnv(pid int, entry []byte) match {
	env, err := os.ReadFile(procFile(pid, "environ"))
	switch {
	case err != nil:
		return stranger
	case len(env) == 0:
		return unclear
	case bytes.HasPrefix(env, entry), bytes.Contains(env, append([]byte{0}, entry...)):
		return marked
	}
	return stranger
}

// holds reports whether a process has a pipe open.
func holds(pid int, pipe string) bool {
	target, err := os.Readlink(procFile(pid, "fd/"+strconv.Itoa(lifelineFD)))
	return err == nil && target == pipe
}

func pipeName(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("look at the lifeline of a command: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("look at the lifeline of a command: no inode")
	}
	return fmt.Sprintf("pipe:[%d]", st.Ino), nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// startTime is when a process started, in ticks since boot; with the number it
// identifies a process until the next boot. One that has ended is not there, also
// while nobody has collected it.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return "", err
	}
	// The second field is the name, in parentheses, and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("read %s: too few fields", procFile(pid, "stat"))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", fmt.Errorf("process %d has ended: %w", pid, fs.ErrNotExist)
	}
	return fields[19], nil
}

// runtimeMark identifies this process in the environment of its commands.
func runtimeMark() string {
	start, err := startTime(os.Getpid())
	if err != nil {
		start = "0"
	}
	return strconv.Itoa(os.Getpid()) + "." + start
}

// badge returns an empty file in memory whose name identifies a session and this runtime,
// or nil if the system has none; then only the environment identifies processes.
func badge(session string) *os.File {
	fd, err := unix.MemfdCreate(badgeName(session, runtimeMark()), unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "badge")
}

const badgePrefix = "swarm:"

func badgeName(session, runtime string) string { return badgePrefix + session + ":" + runtime }

// badgeRuntime returns the runtime of a process with the badge of a session.
func badgeRuntime(pid int, session string) (runtime string, ok bool) {
	name, err := os.Readlink(procFile(pid, "fd/"+strconv.Itoa(badgeFD)))
	if err != nil {
		return "", false
	}
	name, ok = strings.CutPrefix(name, "/memfd:"+badgeName(session, ""))
	return strings.TrimSuffix(name, " (deleted)"), ok
}

// isRuntimeAlive reports whether the process that made a mark still runs.
func isRuntimeAlive(mark string) bool {
	number, start, _ := strings.Cut(mark, ".")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	now, err := startTime(pid)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return now == start
}

// Reap kills the processes that commands of a session have left behind: those with the
// session's mark, in their environment or as a badge, whose runtime was killed before it
// could end them. It never touches processes of a living runtime, so that several runtimes
// may call it at any time. It returns how many it killed, when they have ended or a second
// has passed.
func Reap(session string) (killed int, err error) {
	if session == "" {
		return 0, errors.New("reap processes: the session has no name")
	}
	h := newProcessSearch()
	for limit := time.Now().Add(time.Second); ; {
		err := h.killMatching(func(pid int) match { return orphaned(pid, session) })
		if err != nil || h.found == 0 || time.Now().After(limit) {
			return len(h.killed), err
		}
		<-time.After(sweepTick)
	}
}

func orphaned(pid int, session string) match {
	by, ok := badgeRuntime(pid, session)
	if !ok {
		by, ok = descendant(pid, session)
	}
	if !ok || by == "" || isRuntimeAlive(by) {
		return stranger
	}
	return marked
}

// descendant returns the runtime of a process that has a session's environment.
func descendant(pid int, session string) (runtime string, ok bool) {
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if v, found := bytes.CutPrefix(entry, []byte("SWARM_SESSION=")); found {
			ok = string(v) == session
		}
		if v, found := bytes.CutPrefix(entry, []byte("SWARM_RUNTIME=")); found {
			runtime = string(v)
		}
	}
	return runtime, ok
}
