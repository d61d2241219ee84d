package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// lab is a home with secrets, a working directory, swarm's state and a file elsewhere,
// all of them canaries.
type lab struct {
	home, dir, state, else_, temp string
}

const (
	canary  = "canary-secret"
	visible = "plain-text"
)

func newLab(t *testing.T) *lab {
	t.Helper()
	base := real(t.TempDir())
	l := &lab{home: base + "/home", dir: base + "/home/work", state: base + "/home/.swarm", else_: base + "/else", temp: base + "/temp"}
	for path, text := range map[string]string{
		l.home + "/.ssh/id": canary, l.home + "/.aws/credentials": canary, l.home + "/.netrc": canary, l.home + "/.config/gcloud/key": canary,
		l.home + "/.claude/.credentials.json": canary, l.home + "/.config/other/file": visible, l.home + "/notes": visible,
		l.state + "/projects/p/s/journal/1": canary, l.state + "/projects/p/s/outputs/ann/1": visible, l.state + "/projects/p/s/outputs/bob/1": canary,
		l.dir + "/file": visible, l.dir + "/.git/config": visible, l.dir + "/sub/file": visible, l.else_ + "/file": visible, l.temp + "/file": visible,
	} {
		write(t, path, text)
	}
	if err := os.Symlink(l.home+"/.ssh/id", l.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.home, l.dir+"/up"); err != nil {
		t.Fatal(err)
	}
	return l
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// profile returns a profile for the lab in which this test program can run too.
func (l *lab) profile(n Name) Profile {
	p := Place{
		Dirs: []string{l.dir}, Home: l.home, Hidden: []string{l.state}, Shown: []string{l.state + "/projects/p/s/outputs/ann"}, Getenv: os.Getenv,
	}.Profile(n)
	if n != Open {
		p.Temp = l.temp
		p.Read = append(p.Read, filepath.Dir(self()))
	}
	return p
}

// machines returns what this machine has in each form that it can take, by name; without
// Landlock the test is skipped.
func machines(t *testing.T) map[string]Machine {
	t.Helper()
	m := Probe()
	if m.Landlock == 0 || !m.Seccomp {
		t.Skipf("the kernel cannot: %v", m.Missing)
	}
	files := m
	files.Mounts, files.Users, files.Bwrap = false, false, ""
	all := map[string]Machine{"landlock": files}
	if m.Mounts {
		all["mounts"] = m
	}
	if mayMount(true) == nil {
		users := files
		users.Users = true
		all["users"] = users
	}
	if path, err := exec.LookPath("bwrap"); err == nil {
		wrapped := m
		wrapped.Mounts, wrapped.Users, wrapped.Bwrap = false, false, real(path)
		if tryBwrap(path) == nil {
			all["bwrap"] = wrapped
		}
	}
	return all
}

// names returns the profiles that a machine can enforce.
func (m Machine) names() []Name {
	return slices.DeleteFunc(Names(), func(n Name) bool { return m.Enforces(n) != nil })
}

// self is this test program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return real(path)
}

// in returns a shell command in the lab.
func (l *lab) in(script string) *exec.Cmd {
	cmd := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", script)
	cmd.Dir = l.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.home, "STATE=" + l.state, "ELSE=" + l.else_, "SELF=" + self(), "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// bare runs a script without a sandbox.
func (l *lab) bare(script string) string {
	out, _ := l.in(script).CombinedOutput() // how it ends is in its output
	return string(out)
}

// run runs a script under a profile, to the end of all that it starts.
func (l *lab) run(t *testing.T, m Machine, p Profile, script string) string {
	t.Helper()
	cmd := l.in(script)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	proc, err := m.Start(cmd, p)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r) // the end of the last writer
		read <- b.String()
	}()
	_ = proc.Wait() // how it ends is in its output
	if _, err := proc.KillAll(); err != nil {
		t.Error(err)
	}
	if err := proc.Close(); err != nil {
		t.Error(err)
	}
	select {
	case out := <-read:
		return out
	case <-time.After(20 * time.Second):
		t.Fatal("somebody still holds the output")
	}
	return ""
}
