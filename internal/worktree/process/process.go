// Package process names processes for good, and finds out which of them use a
// directory or a file. A number alone does not name a process: the system uses it
// again.
//
//	record.Holder = process.Self() // written to disk
//	…
//	if record.Holder.Alive() { // asked by a later process
//		return fmt.Errorf("process %d holds it", record.Holder.PID)
//	}
//
// Laws:
//
//   - A process that has ended is not alive, whoever has its number now
//     (TestAnEndedProcessIsNotAlive).
//   - A process of another machine counts as alive (TestAnotherMachineCountsAsAlive).
//
// Which processes use a directory or a file is known on Linux only.
package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ID names one process for good. Its zero value names none.
type ID struct {
	Host  string `json:"host"`
	Boot  string `json:"boot,omitempty"`
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

// Self returns the ID of this process.
func Self() ID {
	return ID{Host: hostname(), Boot: bootID(), PID: os.Getpid(), Start: startOf(os.Getpid())}
}

// Alive reports whether the process may still run. A process on another machine
// counts as alive.
func (id ID) Alive() bool {
	switch {
	case id.PID == 0:
		return false
	case id.Host != hostname():
		return true
	case id.Boot != bootID():
		return false
	}
	return startOf(id.PID) == id.Start
}

// IsSelf reports whether it is this process.
func (id ID) IsSelf() bool { return id == Self() }

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot))
}

// WorkingIn lists the processes that have their working directory in dir, which is a
// real path. It finds none on systems without /proc.
func WorkingIn(dir string) []int {
	var out []int
	for _, pid := range pids() {
		cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		if err == nil && (cwd == dir || strings.HasPrefix(cwd, strings.TrimSuffix(dir, "/")+"/")) {
			out = append(out, pid)
		}
	}
	return out
}

// HasOpen reports whether some process has the file open; known is false where the
// system does not show it.
func HasOpen(path string) (open, known bool) {
	all := pids()
	for _, pid := range all {
		fds, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
		if err != nil {
			return false, false
		}
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && to == path {
				return true, true
			}
		}
	}
	return false, len(all) > 0
}

// pids lists the processes of the machine; none on systems without /proc.
func pids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}
