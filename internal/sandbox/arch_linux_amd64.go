package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// launchMachine is ELF's number for the processor.
const launchMachine = 62 // EM_X86_64
