package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombie is the state of a process that has ended and that its parent has not collected.
const zombie = 5

// startOf returns when a process began, in seconds; "" if there is none.
func startOf(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || info.Proc.P_stat == zombie {
		return ""
	}
	began := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", began.Sec, began.Usec)
}
