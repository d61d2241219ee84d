package sandbox

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// MachineMemory returns the bytes of memory of this machine, or 0.
func MachineMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}

// exceeds says in a sentence by what the processes of the command are beyond the totals of
// its profile, or "".
func (p *Process) exceeds() string {
	limits := p.Profile.Totals
	if limits == (Totals{}) {
		return ""
	}
	if p.group != nil {
		return p.group.exceeded(limits)
	}
	pids, err := p.members()
	if err != nil {
		return "" // what cannot be counted is not known to be too much
	}
	used := Totals{Processes: len(pids)}
	if limits.Memory > 0 {
		for _, pid := range pids {
			used.Memory += ownMemory(pid)
		}
		if used.Memory > limits.Memory { // as far as they share it with each other, it counts once
			used.Memory = sharedOnce(pids)
		}
	}
	return limits.exceededBy(used)
}

// exceededLast is exceeds for a command that has ended, of which only its control group
// knows.
func (p *Process) exceededLast() string {
	if p.group == nil {
		return ""
	}
	return p.exceeds()
}

// members returns the processes of the command: those of its scope, or without one those
// of its session, if it has one of its own.
func (p *Process) members() ([]int, error) {
	if p.scoped {
		return p.Left()
	}
	all, err := allProcesses()
	var pids []int
	for _, pid := range all {
		if sid, err := unix.Getsid(pid); err == nil && sid == p.PID() {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// ownMemory returns the bytes of memory of a process that come from no file, or 0.
func ownMemory(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseUint(string(fields[1]), 10, 64) // the kernel writes numbers
	shared, _ := strconv.ParseUint(string(fields[2]), 10, 64)
	return (max(resident, shared) - shared) * uint64(os.Getpagesize())
}

// sharedOnce returns the bytes of memory of processes of which each part counts once, in
// proportion to who has it.
func sharedOnce(pids []int) (sum uint64) {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			sum += ownMemory(pid)
			continue
		}
		for line := range bytes.Lines(text) {
			if rest, ok := bytes.CutPrefix(line, []byte("Pss_Anon:")); ok {
				kb, _ := strconv.ParseUint(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
				sum += kb << 10
			}
		}
	}
	return sum
}
