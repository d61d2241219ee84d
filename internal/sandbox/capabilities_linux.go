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

// keptCapabilities returns the capabilities of the calling thread but for those.
func keptCapabilities() (sets [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return sets, fmt.Errorf("read the capabilities of a thread: %w", err)
	}
	for _, c := range overreaching() {
		keep := ^(uint32(1) << (c % 32))
		s := &sets[c/32]
		s.Effective, s.Permitted, s.Inheritable = s.Effective&keep, s.Permitted&keep, s.Inheritable&keep
	}
	return sets, nil
}

// dropCapabilities takes them from the calling thread. With no_new_privs a program that
// it starts cannot get them back.
func dropCapabilities() error {
	sets, err := keptCapabilities()
	if err != nil || sets[0].Permitted|sets[1].Permitted == 0 {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities of a thread: %w", err)
	}
	return nil
}
