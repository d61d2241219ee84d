package builtin

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MarksOf returns whose command a process is: what it bears itself, in its
// environment and as a badge, what the leaders of its group and session bear, and
// the processes that it descends from; the nearest first. One that no command has
// started bears none. It is an error when the process itself may not be looked at,
// such as one that is gone.
func MarksOf(pid int) (all []Mark, err error) {
	if _, err := os.ReadFile(procFile(pid, "environ")); err != nil {
		return nil, fmt.Errorf("look at process %d: %w", pid, err)
	}
	for seen := map[int]bool{}; pid > 0 && !seen[pid]; {
		seen[pid] = true
		up, err := kin(pid)
		if err != nil {
			break // it has ended meanwhile
		}
		for _, p := range []int{pid, up.group, up.session} {
			all = append(all, marksOn(p)...)
		}
		pid = up.parent
	}
	return all, nil
}

type kinship struct{ parent, group, session int }

func kin(pid int) (k kinship, err error) {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return k, err
	}
	_, err = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), new(string), &k.parent, &k.group, &k.session)
	return k, err
}

// marksOn returns the marks that one process bears itself. What may not be read,
// as with processes of other users, is no command of ours.
func marksOn(pid int) (all []Mark) {
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return nil
	}
	var m Mark
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		switch name, value, _ := strings.Cut(string(entry), "="); name {
		case "SWARM_SESSION":
			m.Session = value
		case "SWARM_AGENT":
			m.Agent = value
		}
	}
	if m.Session != "" {
		all = append(all, m)
	}
	name, err := os.Readlink(procFile(pid, "fd/"+strconv.Itoa(badgeFD)))
	if name, ok := strings.CutPrefix(name, "/memfd:"+badgePrefix); ok && err == nil {
		session, _, _ := strings.Cut(name, ":")
		all = append(all, Mark{Session: session})
	}
	return all
}
