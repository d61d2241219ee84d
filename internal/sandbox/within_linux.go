package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// enter adds the change to the working directory of the command, which is found anew
// behind the mounts: what was opened before them leads past what they cover.
func (l *launcher) enter(dir string) (err error) {
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
	}
	l.add("change to "+dir, unix.SYS_CHDIR, l.text(dir))
	return nil
}

// bound adds the limits.
func (l *launcher) bound(limits Limits) {
	for _, r := range limits.resources() {
		if r.limit == 0 {
			continue
		}
		l.add("bound "+r.what, unix.SYS_PRLIMIT64, num(0), num(r.resource), l.words(r.limit, r.limit), num(0))
	}
}

// resource is a limit as the kernel knows it.
type resource struct {
	what     string
	resource int
	limit    uint64
}

func (l Limits) resources() []resource {
	return []resource{
		{"processor time", unix.RLIMIT_CPU, l.CPU},
		{"the size of files", unix.RLIMIT_FSIZE, l.FileSize},
		{"open files", unix.RLIMIT_NOFILE, l.OpenFiles},
		{"memory", unix.RLIMIT_AS, l.Memory},
	}
}

// dropCapabilities adds the loss of what would get past the rest: in a user namespace,
// where the command has all of them, what its user has not outside.
func (l *launcher) dropCapabilities(users bool) error {
	sets, err := keptCapabilities()
	if err != nil {
		return err
	}
	header := l.words(unix.LINUX_CAPABILITY_VERSION_3) // and process 0, the caller
	var raw []byte
	for _, s := range sets {
		if users && os.Geteuid() != 0 {
			s = unix.CapUserData{}
		}
		raw = binary.NativeEndian.AppendUint32(raw, s.Effective)
		raw = binary.NativeEndian.AppendUint32(raw, s.Permitted)
		raw = binary.NativeEndian.AppendUint32(raw, s.Inheritable)
	}
	l.add("drop capabilities", unix.SYS_CAPSET, header, l.place(raw))
	l.add("drop ambient capabilities", unix.SYS_PRCTL, num(unix.PR_CAP_AMBIENT), num(unix.PR_CAP_AMBIENT_CLEAR_ALL))
	return nil
}

// dieWith repeats the signal that the command gets when its parent ends, which changes of
// capabilities clear.
func (l *launcher) dieWith(cmd *exec.Cmd) {
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Pdeathsig != 0 {
		l.add("die with the parent", unix.SYS_PRCTL, num(unix.PR_SET_PDEATHSIG), num(int(cmd.SysProcAttr.Pdeathsig)))
	}
}

// restrict adds Landlock rules, which may be those of last.
func (l *launcher) restrict(r *ruleset, abi int, last *lastRules) error {
	fd, err := last.open(r, abi)
	if err != nil {
		return err
	}
	rules := l.file(os.NewFile(uintptr(fd), "landlock"))
	l.add("restrict with Landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, rules, num(0))
	return nil
}

// install adds a filter, behind which no call of the launcher but its last works.
func (l *launcher) install(f filter) {
	at := l.place(f.bytes())
	program := l.words(uint64(len(f)), at.n)
	l.pointers = append(l.pointers, program.n+8)
	l.add("install a filter", unix.SYS_SECCOMP, num(unix.SECCOMP_SET_MODE_FILTER), num(0), program)
}
