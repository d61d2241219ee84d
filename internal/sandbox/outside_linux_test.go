package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProcessesOutsideAreNotTuned: limits and priorities of processes outside stay.
func TestProcessesOutsideAreNotTuned(t *testing.T) {
	needs(t, "prlimit", "renice", "sleep")
	outside := exec.Command("sleep", "600")
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = outside.Process.Kill() // it has not ended
		_ = outside.Wait()         // it was killed
	})
	pid := outside.Process.Pid
	tuned := func() string {
		priority, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		limits, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		return fmt.Sprint(priority, string(limits))
	}
	before := tuned()
	script := fmt.Sprintf("prlimit --pid %d --nofile=%%d:100; renice -n %%d -p %d; nice -n 3 true && ulimit -n 50 && echo own", pid, pid)
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			for _, n := range m.names() {
				if n == Open {
					continue
				}
				l := newLab(t)
				if out := l.run(t, m, l.profile(n), fmt.Sprintf(script, 90, 5)); tuned() != before || !strings.Contains(out, "own") {
					t.Errorf("under %s: %s", n, out)
				}
			}
		})
	}
	newLab(t).bare(fmt.Sprintf(script, 80, 7))
	if tuned() == before {
		t.Error("without a sandbox nothing is tuned either")
	}
}

// TestRootsCredentialsCannotBeRead: a root user's commands do not read what only root does.
func TestRootsCredentialsCannotBeRead(t *testing.T) {
	secret, err := os.ReadFile("/etc/shadow")
	if err != nil || len(secret) == 0 {
		t.Skip("this user reads no credentials of the machine")
	}
	for machine, m := range machines(t) {
		for _, n := range []Name{Inspect, Edit} {
			if m.Enforces(n) != nil {
				continue
			}
			l := newLab(t)
			if out := l.run(t, m, l.profile(n), "cat /etc/shadow; cat /etc/passwd"); strings.Contains(out, string(secret)) || !strings.Contains(out, "root:") {
				t.Errorf("%s under %s: %s", machine, n, out)
			}
		}
	}
}
