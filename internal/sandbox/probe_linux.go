package sandbox

import (
	"bytes"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"
)

func probe() (m Machine) {
	miss := func(format string, args ...any) { m.Missing = append(m.Missing, fmt.Sprintf(format, args...)) }
	abi, err := landlockABI()
	m.Landlock = abi
	switch {
	case err != nil:
		miss("the kernel has no Landlock (%v)", err)
	case abi < 6:
		miss("Landlock ABI %d confines no signals (Linux 6.12 does), so what leaves its session and drops its environment is not ended", abi)
	case !threadsSignalEachOther():
		miss("the kernel's Landlock keeps the threads of one program from signalling each other; update the kernel")
	default:
		m.Scopes = true
	}
	if m.Seccomp = auditArch != 0 && hasSeccomp(); !m.Seccomp {
		miss("the kernel or this processor has no seccomp filters")
	}
	if err := launches(); err != nil {
		miss("a program in memory cannot be run (%v), so commands are not bounded", err)
	} else {
		m.Launcher = true
		m.probeMounts(miss)
		if m.Groups, err = groupParent(); err != nil {
			m.Ungrouped = err.Error()
		}
	}
	return m
}

// probeMounts finds out what makes mounts for a command.
func (m *Machine) probeMounts(miss func(format string, args ...any)) {
	if mayMount(false) == nil {
		m.Mounts = true
		return
	}
	err := mayMount(true)
	if err == nil {
		m.Users = true
		return
	}
	if m.Bwrap = findBwrap(); m.Bwrap == "" {
		miss("this user may not mount, also not in a user namespace (%v), and there is no bwrap: names are hidden from reading only; "+
			"allow user namespaces or install bubblewrap", err)
	} else if err := tryBwrap(m.Bwrap); err != nil {
		m.Bwrap = ""
		miss("bwrap does not work here (%v), so names are hidden from reading only", err)
	}
}

// hasSeccomp asks for a filter at no address, which only a kernel without filters
// refuses for another reason.
func hasSeccomp() bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	return errno == unix.EFAULT || errno == unix.EACCES
}

// tryBwrap runs a program that does nothing with the mounts that commands need.
func tryBwrap(bwrap string) error {
	out, err := exec.Command(bwrap, "--dev-bind", "/", "/", "--tmpfs", "/root", "--", "/bin/true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
