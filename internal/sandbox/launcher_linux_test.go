package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestALauncherMakesItsCallsAndBecomesTheCommand: it hands on arguments, environment and
// working directory, and none of its files.
func TestALauncherMakesItsCallsAndBecomesTheCommand(t *testing.T) {
	if err := launches(); err != nil {
		t.Skip(err)
	}
	l, dir := &launcher{}, real(t.TempDir())
	l.write("/dev/null", "text")
	l.add("open nothing", unix.SYS_OPENAT, num(unix.AT_FDCWD), l.text("/nowhere/at/all"))
	l.tolerate(unix.ENOENT)
	if err := l.enter(dir); err != nil {
		t.Fatal(err)
	}
	command := func(out *strings.Builder) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", `pwd; echo "$1 $2 $WORD"; ls /proc/self/fd`, "sh", "a b", "c")
		cmd.Env, cmd.Dir, cmd.Stdout = []string{"WORD=d", "PATH=/usr/bin:/bin"}, "/", out
		return cmd
	}
	var bare, out strings.Builder
	alone, behind := command(&bare), command(&out)
	alone.Dir = dir
	if err := errors.Join(alone.Run(), launch1(l, behind)); err != nil {
		t.Fatal(err)
	}
	if err := behind.Wait(); err != nil {
		t.Fatal(err)
	}
	if bare.String() != out.String() {
		t.Errorf("it says %q, and without a launcher %q", out.String(), bare.String())
	}
}

// launch1 starts a command behind a launcher, and collects one that does not get that far.
func launch1(l *launcher, cmd *exec.Cmd) error {
	on, err := l.wrap(cmd)
	if err != nil {
		return err
	}
	err = cmd.Start()
	return (&prepared{on: on}).started(cmd, err)
}

// TestALauncherNamesTheCallThatFailed, and does not run the command.
func TestALauncherNamesTheCallThatFailed(t *testing.T) {
	if err := launches(); err != nil {
		t.Skip(err)
	}
	made := t.TempDir() + "/made"
	for what, add := range map[string]func(l *launcher){
		"mount on /nowhere":  func(l *launcher) { l.mount("/dev/null", "/nowhere", "", unix.MS_BIND, "") },
		"change to /nowhere": func(l *launcher) { _ = l.enter("/nowhere") },
	} {
		l := &launcher{}
		add(l)
		err := launch1(l, exec.Command("/bin/sh", "-c", "echo > "+made))
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), what) {
			t.Errorf("%v does not name %q", err, what)
		}
	}
	if err := launch1(&launcher{}, &exec.Cmd{Path: "/nowhere", Args: []string{"x"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := os.Lstat(made); err == nil {
		t.Error("the command has run")
	}
}

// TestWhatIsHiddenMayVanish: a command starts although a hidden or fixed name has gone since
// its mounts were planned, but not without what stands for hidden files.
func TestWhatIsHiddenMayVanish(t *testing.T) {
	if !Probe().mounts() || Probe().Bwrap != "" {
		t.Skip("this user may not mount")
	}
	for _, gone := range []string{"file", "dir", "fixed", "mask"} {
		base := real(t.TempDir())
		for _, name := range []string{"file", "dir/in", "fixed", "mask"} {
			write(t, base+"/"+name, visible)
		}
		l := &launcher{}
		m := &mounts{users: !Probe().Mounts, hidden: []string{base + "/dir", base + "/file"}, fixed: []string{base + "/fixed"}, mask: base + "/mask"}
		if err := errors.Join(m.steps(l), os.RemoveAll(base+"/"+gone)); err != nil {
			t.Fatal(err)
		}
		if err := l.try(); (err != nil) != (gone == "mask") {
			t.Errorf("%s has gone: %v", gone, err)
		}
	}
}
