package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// launcher is a program of a few hundred bytes that makes system calls and then becomes
// the command. It does what a thread of this process cannot do for a command: a program
// with several threads can neither enter a user namespace nor bound one thread's use of
// memory. The calls are laid out here, as data; the program (launch, in assembly) goes
// through them, so that a launcher costs one execution of a file in memory.
//
//	l := &launcher{}
//	l.mount("tmpfs", "/srv/secrets", "tmpfs", 0, "size=1m")
//	on, err := l.wrap(cmd)
//	err = cmd.Start()
//	err = on.wait() // the calls are made, and the command itself runs
type launcher struct {
	steps []step
	data  []byte     // what the steps point to
	files []*os.File // open files that the steps use and the command does not get

	pointers []uint64 // where in the data the address of other data is
	numbers  []placed // where in the data the number of a file is
	spares   uint64   // files that the steps open at a number of their own
}

// placed is a value in the data, of 32 bits.
type placed struct {
	at    uint64
	value value
}

// step is one system call.
type step struct {
	what  string // for an error
	call  uintptr
	args  [6]value
	store int        // the step whose first argument the result becomes; 0: none
	loose unix.Errno // the error that is no failure; 0: none
}

// value is an argument of a call.
type value struct {
	n    uint64
	kind valueKind
}

type valueKind int

const (
	plain     valueKind = iota // n itself
	inData                     // the address of the data at n
	ofFile                     // the number that the file n of the launcher has in it
	pastFiles                  // the first number past those of its files
)

func num[T ~int | ~uint64 | ~uintptr](n T) value { return value{n: uint64(n)} }

// place puts bytes into the data and returns where.
func (l *launcher) place(b []byte) value {
	for len(l.data)%8 != 0 {
		l.data = append(l.data, 0)
	}
	v := value{uint64(len(l.data)), inData}
	l.data = append(l.data, b...)
	return v
}

// text puts a string into the data, as C has them; "" is none.
func (l *launcher) text(s string) value {
	if s == "" {
		return value{}
	}
	return l.place(append([]byte(s), 0))
}

// words puts numbers into the data, as an array or a structure of them.
func (l *launcher) words(all ...uint64) value {
	var b []byte
	for _, w := range all {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return l.place(b)
}

// file gives the launcher an open file. It belongs to the launcher from now on.
func (l *launcher) file(f *os.File) value {
	l.files = append(l.files, f)
	return value{uint64(len(l.files) - 1), ofFile}
}

// firstSpare is beyond the number of files that a launcher gets.
const firstSpare = 64

// spare returns a number at which steps may open a file, which the command does not get if
// they open it to be closed.
func (l *launcher) spare() value {
	l.spares++
	return value{firstSpare + l.spares - 1, ofFile}
}

// add adds a step and returns its index.
func (l *launcher) add(what string, call uintptr, args ...value) int {
	s := step{what: what, call: call}
	copy(s.args[:], args)
	l.steps = append(l.steps, s)
	return len(l.steps) - 1
}

// tolerate makes the last step one that may fail with an error.
func (l *launcher) tolerate(err unix.Errno) { l.steps[len(l.steps)-1].loose = err }

// mount adds a mount, as mount(2) makes it; "" is no argument.
func (l *launcher) mount(source, target, kind string, flags int, data string) {
	l.add("mount on "+target, unix.SYS_MOUNT, l.text(source), l.text(target), l.text(kind), num(flags), l.text(data))
}

// readOnly makes a mount read-only, and those below it. Unlike a remount this changes no
// other flag; some may not be changed in a user namespace.
func (l *launcher) readOnly(path string) {
	attr := l.words(unix.MOUNT_ATTR_RDONLY, 0, 0, 0)
	l.add("make "+path+" read-only", unix.SYS_MOUNT_SETATTR, num(unix.AT_FDCWD), l.text(path), num(unix.AT_RECURSIVE), attr, num(4*8))
}

// write adds the steps that write a small file.
func (l *launcher) write(path, text string) {
	open := l.add("open "+path, unix.SYS_OPENAT, num(unix.AT_FDCWD), l.text(path), num(unix.O_WRONLY|unix.O_CLOEXEC))
	l.steps[open].store = l.add("write "+path, unix.SYS_WRITE, value{}, l.place([]byte(text)), num(len(text)))
}

// closeOpened adds the end of the files that earlier steps have opened.
func (l *launcher) closeOpened() {
	l.add("close what was opened", unix.SYS_CLOSE_RANGE, value{kind: pastFiles}, num(uint64(math.MaxUint32)), num(0))
}

// try makes the calls alone.
func (l *launcher) try() error {
	l.add("end", unix.SYS_EXIT_GROUP, num(0))
	cmd := &exec.Cmd{Path: "/", Args: []string{"launcher"}}
	on, err := l.wrap(cmd)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, on.close())
	}
	err = on.wait()
	return errors.Join(err, cmd.Wait())
}

// launches tries whether a launcher can run here at all.
func launches() error {
	if launchCode() == nil {
		return errors.New("none is written for this processor")
	}
	return (&launcher{}).try()
}

// launched is a command behind a launcher.
type launched struct {
	steps  []step
	status *os.File   // where the launcher reports a failure
	files  []*os.File // to be closed when the launcher runs
}

// wrap puts the launcher before a command, which is then to be started and waited for.
func (l *launcher) wrap(cmd *exec.Cmd) (*launched, error) {
	status, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe for the launcher: %w", err), closeFiles(l.files))
	}
	on := &launched{status: status, files: append(l.files, w)}
	own, err := memoryFile("launcher")
	if err != nil {
		return nil, errors.Join(err, on.close())
	}
	on.files = append(on.files, own)
	first := 3 + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), on.files...)
	last := first + len(on.files) - 1
	l.closeOnExec(first, last)
	code, data := l.image(cmd.Path, first, last-1)
	_, err = own.WriteAt(code, 0)
	if _, dataErr := own.WriteAt(data, imageData-imageCode); errors.Join(err, dataErr) != nil {
		return nil, errors.Join(fmt.Errorf("write the launcher: %w", errors.Join(err, dataErr)), on.close())
	}
	cmd.Path, on.steps = "/proc/self/fd/"+strconv.Itoa(last), l.steps
	return on, nil
}

// closeOnExec keeps files of the launcher from its command.
func (l *launcher) closeOnExec(first, last int) {
	for fd := first; fd <= last; fd++ {
		l.add("close the launcher's files", unix.SYS_FCNTL, num(fd), num(unix.F_SETFD), num(unix.FD_CLOEXEC))
	}
}

// wait returns when the launcher has become the command, or returns why it could not.
func (o *launched) wait() (err error) {
	err = closeFiles(o.files)
	said := make([]byte, stepSize)
	n, readErr := io.ReadFull(o.status, said)
	err = errors.Join(err, o.status.Close())
	if n == 0 && errors.Is(readErr, io.EOF) {
		return err
	}
	if readErr != nil {
		return errors.Join(fmt.Errorf("read what the launcher reports: %w", readErr), err)
	}
	errno := unix.Errno(-int64(binary.NativeEndian.Uint64(said[errorAt:])))
	what := "execute it"
	if i := binary.NativeEndian.Uint64(said[indexAt:]); i < uint64(len(o.steps)) {
		what = o.steps[i].what
	}
	return errors.Join(fmt.Errorf("%s: %w", what, errno), err)
}

// close gives the files back when no command was started.
func (o *launched) close() error { return errors.Join(closeFiles(o.files), o.status.Close()) }

func closeFiles(files []*os.File) (err error) {
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// memoryFile makes a file in memory that can be executed.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all of them can
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
