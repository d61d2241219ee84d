package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets into what a seccomp filter sees of a call, on machines whose low half of a
// number comes first.
const (
	callNumber = 0
	callArch   = 4
	firstArg   = 16
)

// filter is a program that decides about system calls; what it does not name passes.
type filter []unix.SockFilter

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// when continues with the next n instructions if the value loaded is k, and past them if not.
func (f *filter) when(k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: n})
}

// unlessSet goes past the next n instructions if no bit of k is set.
func (f *filter) unlessSet(k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: k, Jf: n})
}

// refuse ends the call with an error.
func (f *filter) refuse(errno unix.Errno) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
}

func (f *filter) allow() {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// groupSize is how many numbers of calls a filter compares one by one.
const groupSize = 8

// refuseCalls ends the calls with an error if the number of the call is loaded. When the
// kernel installs a filter, it runs it for each call that there is, so that going past whole
// groups of numbers makes it cheaper to install.
func (f *filter) refuseCalls(errno unix.Errno, calls ...uint32) {
	calls = union(calls, nil)
	groups := slices.Collect(slices.Chunk(calls, groupSize))
	left := len(calls) + 3*len(groups) // instructions to the end
	for _, group := range groups {
		n := len(group)
		left -= n + 3
		*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: group[n-1], Jt: uint8(n + 2)})
		for i, nr := range group {
			*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jt: uint8(n - i)})
		}
		*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(left + 1)})
		f.refuse(errno)
	}
}

// always are the calls that no command needs: they reach the keyrings, the kernel
// itself, or files past the mounts that hide them.
func always() []uint32 {
	return []uint32{
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SWAPON, unix.SYS_REBOOT,
	}
}

// confining are the calls that a command besides does not need unless a person has
// allowed it.
func confining() []uint32 {
	return []uint32{
		unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PTRACE,
	}
}

func mounting() []uint32 {
	return []uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR,
	}
}

// withoutMounts keeps what runs inside of bwrap from undoing its mounts.
func withoutMounts() filter {
	var f filter
	f.foreign(true)
	f.load(callNumber)
	f.refuseCalls(unix.EPERM, append(mounting(), unix.SYS_SETNS)...)
	f.allow()
	return f
}

// unknown are calls that programs do without when the kernel has none of them; a
// filter could not see what they are asked for.
func unknown() []uint32 {
	return []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3}
}

func signals() []uint32 {
	return []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL}
}

// filterOf returns the filter of a profile; scoped reports that signals are confined
// otherwise, and bwrap that it makes the mounts and has to be let.
func filterOf(p Profile, scoped, bwrap bool) filter {
	var f filter
	confined := p.Name != Open
	f.foreign(confined)
	refused := always()
	if confined && !bwrap {
		refused = append(append(refused, confining()...), mounting()...)
	}
	if confined {
		refused = append(refused, shared()...)
	}
	if p.Name == Inspect && !scoped {
		refused = append(refused, signals()...)
	}
	f.load(callNumber)
	f.refuseCalls(unix.EPERM, refused...)
	if confined {
		f.refuseCalls(unix.ENOSYS, unknown()...)
	}
	if confined {
		f.processes()
	}
	f.terminals()
	f.namespaces(confined && !bwrap)
	f.sockets(p)
	f.allow()
	return f
}

// foreign decides about calls in another convention, such as those of 32-bit programs,
// whose numbers mean other calls. A confined command makes none.
func (f *filter) foreign(confined bool) {
	f.load(callArch)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: auditArch, Jt: 1})
	if confined {
		*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
	} else {
		f.allow()
	}
	if x32 := uint32(0x40000000); auditArch == unix.AUDIT_ARCH_X86_64 {
		f.load(callNumber)
		f.unlessSet(x32, 1)
		f.refuse(unix.ENOSYS)
	}
}

// terminals refuses to type into a terminal as if a person did.
func (f *filter) terminals() {
	const linux = 0x541c // TIOCLINUX, which pastes the console's selection
	f.load(callNumber)
	f.when(unix.SYS_IOCTL, 5)
	f.load(firstArg + 8)
	f.when(unix.TIOCSTI, 1)
	f.refuse(unix.EPERM)
	f.when(linux, 1)
	f.refuse(unix.EPERM)
}

// namespaces refuses a new user namespace, in which a process may do more.
func (f *filter) namespaces(refuse bool) {
	if !refuse {
		return
	}
	f.load(callNumber)
	f.when(unix.SYS_CLONE, 3)
	f.load(firstArg)
	f.unlessSet(unix.CLONE_NEWUSER, 1)
	f.refuse(unix.EPERM)
}

// sockets refuses the kinds of socket that a profile lacks. A pair of Unix sockets leads
// nowhere else and is not refused.
func (f *filter) sockets(p Profile) {
	if p.Network && p.Sockets {
		return
	}
	f.load(callNumber)
	if p.Outlet {
		f.internet(p.Sockets)
		return
	}
	if !p.Network && !p.Sockets {
		f.when(unix.SYS_SOCKET, 1)
		f.refuse(unix.EACCES)
		return
	}
	families := []uint32{unix.AF_UNIX}
	if p.Sockets {
		families = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_PACKET}
	}
	f.when(unix.SYS_SOCKET, uint8(1+2*len(families)))
	f.load(firstArg)
	for _, family := range families {
		f.when(family, 1)
		f.refuse(unix.EACCES)
	}
}

// internet refuses all kinds of socket but those that end in the command's own network.
func (f *filter) internet(sockets bool) {
	families := []uint32{unix.AF_INET, unix.AF_INET6}
	if sockets {
		families = append(families, unix.AF_UNIX)
	}
	f.when(unix.SYS_SOCKET, uint8(2+2*len(families)))
	f.load(firstArg)
	for _, family := range families {
		f.when(family, 1)
		f.allow()
	}
	f.refuse(unix.EACCES)
}

// bytes returns the filter as the kernel reads it.
func (f filter) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), len(f)*int(unsafe.Sizeof(f[0])))
}

// file returns the filter as bwrap reads it.
func (f filter) file() (*os.File, error) {
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file for a seccomp filter: %w", err)
	}
	file := os.NewFile(uintptr(fd), "filter")
	if _, err := file.WriteAt(f.bytes(), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("write a seccomp filter: %w", err), file.Close())
	}
	return file, nil
}

// install puts the calling thread under the filter, for good.
func (f filter) install() error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("install a seccomp filter: %w", errno)
	}
	return nil
}
