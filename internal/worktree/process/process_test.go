package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestAnEndedProcessIsNotAlive(t *testing.T) {
	me := Self()
	if !me.Alive() || !me.IsSelf() {
		t.Fatalf("this process is %+v, alive %v, self %v", me, me.Alive(), me.IsSelf())
	}
	later := me
	later.Start += "0" // another process that has the number now
	if later.Alive() || later.IsSelf() {
		t.Error("a process that began at another time counts as the same one")
	}
	if (ID{}).Alive() {
		t.Error("no process is alive")
	}
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	child := ID{Host: me.Host, Boot: me.Boot, PID: cmd.Process.Pid, Start: startOf(cmd.Process.Pid)}
	if !child.Alive() || child.IsSelf() {
		t.Errorf("a running child is %+v, alive %v, self %v", child, child.Alive(), child.IsSelf())
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if child.Alive() {
		t.Error("a child that has ended counts as alive")
	}
}

func TestAnotherMachineCountsAsAlive(t *testing.T) {
	id := ID{Host: "elsewhere", PID: 1<<22 + 1, Start: "1"}
	if !id.Alive() {
		t.Error("a process of another machine counts as dead")
	}
	if id = Self(); id.Boot != "" {
		id.Boot = "before"
	}
	if id.Boot == "before" && id.Alive() {
		t.Error("a process from before the machine was started counts as alive")
	}
}

func TestUsersOfADirectoryAndAFile(t *testing.T) {
	if len(WorkingIn("/")) == 0 {
		t.Skip("this system does not show where processes work")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if pids := WorkingIn(dir); len(pids) > 0 {
		t.Errorf("processes %v work in a new directory", pids)
	}
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.Dir = sub
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if pids := WorkingIn(dir); !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("processes %v work in the directory; want %d", pids, cmd.Process.Pid)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if open, known := HasOpen(f.Name()); !open || !known {
		t.Errorf("a file that this process has open: %v, known %v", open, known)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if open, known := HasOpen(f.Name()); open || !known {
		t.Errorf("a file that nobody has open: %v, known %v", open, known)
	}
}
