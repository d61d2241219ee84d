package sandbox

import "golang.org/x/sys/unix"

// metadataCalls change who owns a file, who may use it, when it was changed or what is
// attached to it. Landlock knows none of them.
func metadataCalls() []uint32 {
	const setxattrat, removexattrat = 463, 466
	return append(pathCalls(),
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, setxattrat, removexattrat,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	)
}

// withoutMetadata is the beginning of a filter that refuses them. It does so in the
// temporary directory, too: a filter sees no paths.
func withoutMetadata() filter {
	var f filter
	f.load(callNumber)
	f.refuseCalls(unix.EPERM, metadataCalls()...)
	f.when(unix.SYS_IOCTL, 5)
	f.load(firstArg + 8)
	f.when(unix.FS_IOC_SETFLAGS, 1)
	f.refuse(unix.EPERM)
	f.when(fsSetXattr, 1)
	f.refuse(unix.EPERM)
	return f
}

const fsSetXattr = 0x401c5820 // FS_IOC_FSSETXATTR, on machines with 64 bits
