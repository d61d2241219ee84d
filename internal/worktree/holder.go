package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// holder names one process for good: a number alone is used again.
type holder struct {
	Host  string `json:"host"`
	Boot  string `json:"boot,omitempty"`
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

func self() holder {
	return holder{Host: hostname(), Boot: bootID(), PID: os.Getpid(), Start: startOf(os.Getpid())}
}

// alive reports whether the process may still run. One on another machine, or
// one that cannot be looked at, counts as alive.
func (h holder) alive() bool {
	switch {
	case h.PID == 0:
		return false
	case h.Host != hostname():
		return true
	case h.Boot != bootID():
		return false
	}
	return startOf(h.PID) == h.Start
}

func (h holder) isSelf() bool { return h == self() }

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// startOf returns when a process began, in whatever unit the system has; "" if
// there is none.
func startOf(pid int) string {
	if bootID() == "" {
		out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	// The name in brackets may hold anything, brackets and blanks included.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// standing lists the processes that have their working directory in dir, where
// the system tells (Linux).
func standing(dir string) []int {
	var out []int
	for _, pid := range processes() {
		cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		if err == nil && below(cwd, dir) {
			out = append(out, pid)
		}
	}
	return out
}

// opened reports whether some process has the file open. known is false where
// the system does not tell.
func opened(path string) (open, known bool) {
	pids := processes()
	for _, pid := range pids {
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
	return false, len(pids) > 0
}

func processes() []int {
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
