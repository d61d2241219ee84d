package builtin

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// sessionAttr puts a command into a session of its own. There is no
// parent-death signal here.
func sessionAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// killMarked does nothing: other processes' environments cannot be read, so
// only the group of the shell is ended.
func (*process) killMarked(*processSearch) error { return nil }

// badge returns none: other processes' descriptors cannot be read either.
func badge(string) *os.File { return nil }

func runtimeMark() string { return strconv.Itoa(os.Getpid()) }

// Reap needs /proc; here it answers errors.ErrUnsupported.
func Reap(session string) (killed int, err error) {
	return 0, fmt.Errorf("find the processes of session %s on %s: %w", session, runtime.GOOS, errors.ErrUnsupported)
}

// awaitEnd returns when a child has ended, and leaves it uncollected so that
// its number, which is that of its group, stays taken.
func awaitEnd(pid int) {
	const (
		byPID   = 1
		exited  = 0x4
		nowait  = 0x20
		waitid  = 173
		infoLen = 128
	)
	var info [infoLen]byte
	for {
		_, _, errno := syscall.Syscall6(waitid, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), exited|nowait, 0, 0)
		if !errors.Is(errno, syscall.EINTR) {
			return
		}
	}
}
