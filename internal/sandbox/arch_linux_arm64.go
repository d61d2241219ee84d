package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// launchMachine is ELF's number for the processor.
const launchMachine = 183 // EM_AARCH64

// pathCalls are the metadata calls that this processor has besides: none.
func pathCalls() []uint32 { return nil }
