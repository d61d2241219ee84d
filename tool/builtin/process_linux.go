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

// killMarked kills every process that carries the mark of the command in its
// environment or holds its lifeline.
func (p *process) killMarked(h *hunt) error {
	env := []byte("SWARM_CALL=" + p.mark + "\x00")
	pipe, err := pipeName(p.life)
	if err != nil {
		return err
	}
	shell := p.cmd.Process.Pid
	return h.look(func(pid int) match {
		switch m := hasEnv(pid, env); {
		case pid == shell:
			return stranger // the group's own signal ends the shell
		case m == marked || holds(pid, pipe):
			return marked
		case m == unclear && pid > shell:
			return unclear // a number below the shell's is an older process
		}
		return stranger
	})
}

// match says whether a process is looked for.
type match int

const (
	stranger match = iota
	unclear        // it has no environment, for now or for good
	marked
)

// look kills the processes that are marked, other than this one, and counts
// what it finds.
func (h *hunt) look(is func(pid int) match) error {
	h.found, h.unsure = 0, 0
	pids, err := allProcesses()
	if err != nil {
		return fmt.Errorf("look for processes left over: %w", err)
	}
	var errs []error
	for _, pid := range pids {
		switch is(pid) {
		case unclear:
			h.unsure++
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

// killIf takes hold of a process, makes sure that it is the one that matched,
// and kills it. The hold goes to the process and not to its number, so a
// number used again meanwhile is never hit.
func killIf(pid int, is func(pid int) match) (killed bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return false, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return killSame(pid, is)
	case err != nil:
		return false, fmt.Errorf("take hold of process %d: %w", pid, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	if surely(pid, is) != marked {
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

// surely asks is while no child of this process is between its fork and its
// exec: such a child still has all our files, and would be taken for a command's.
func surely(pid int, is func(pid int) match) match {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return is(pid)
}

// killSame is killIf for kernels without handles on processes: the time at
// which the process started tells it from a later one of the same number.
func killSame(pid int, is func(pid int) match) (bool, error) {
	start, err := startTime(pid)
	if err != nil || surely(pid, is) != marked {
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

// reap collects a killed process if it has become our child, which happens
// where the runtime is the first process of a container. Elsewhere the wait
// fails, as it should, and init collects.
func reap(pid int) {
	for range 50 {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if got == pid || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// hasEnv looks for an entry, with the NUL that ends it, in the environment a
// process was started with. What may not be read is not ours.
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

// badge returns an empty file in memory whose name tells a session and this
// runtime, or nil where the system gives none: then the environment has to do.
func badge(session string) *os.File {
	fd, err := unix.MemfdCreate(badgeName(session, runtimeMark()), unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "badge")
}

const badgePrefix = "swarm:"

func badgeName(session, runtime string) string { return badgePrefix + session + ":" + runtime }

// wearer returns the runtime of a process that wears the badge of a session.
func wearer(pid int, session string) (runtime string, ok bool) {
	name, err := os.Readlink(procFile(pid, "fd/"+strconv.Itoa(badgeFD)))
	if err != nil {
		return "", false
	}
	name, ok = strings.CutPrefix(name, "/memfd:"+badgeName(session, ""))
	return strings.TrimSuffix(name, " (deleted)"), ok
}

// runs reports whether the process a mark was made by is still there.
func runs(mark string) bool {
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

// Reap kills the processes that commands of a session have left behind: those
// that carry the session's mark, in their environment or as a badge, and whose
// runtime is gone, killed before it could end them. Processes of a living runtime are never touched, so Reap may
// be called at any time, and by several runtimes. It returns how many it
// killed, once they are gone or a second has passed.
func Reap(session string) (killed int, err error) {
	if session == "" {
		return 0, errors.New("reap processes: the session has no name")
	}
	h := newHunt()
	for limit := time.Now().Add(time.Second); ; {
		err := h.look(func(pid int) match { return orphaned(pid, session) })
		if err != nil || h.found == 0 || time.Now().After(limit) {
			return len(h.killed), err
		}
		<-time.After(sweepTick)
	}
}

func orphaned(pid int, session string) match {
	by, ok := wearer(pid, session)
	if !ok {
		by, ok = descendant(pid, session)
	}
	if !ok || by == "" || runs(by) {
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
