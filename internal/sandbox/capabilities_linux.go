package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// overreaching are the capabilities by which a root user gets past the rest: with
// CAP_PERFMON, for one, the environment of any process can be read.
func overreaching() []int {
	return []int{
		unix.CAP_SYS_ADMIN, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_SYS_PTRACE, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_BOOT,
		unix.CAP_DAC_READ_SEARCH, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
	}
}

// dropCapabilities takes them from the calling thread. With no_new_privs a program that
// it starts cannot get them back.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read the capabilities of a thread: %w", err)
	}
	if sets[0].Permitted|sets[1].Permitted == 0 {
		return nil
	}
	for _, c := range overreaching() {
		keep := ^(uint32(1) << (c % 32))
		s := &sets[c/32]
		s.Effective, s.Permitted, s.Inheritable = s.Effective&keep, s.Permitted&keep, s.Inheritable&keep
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities of a thread: %w", err)
	}
	return nil
}
