package builtin

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MarksOf returns the marks of a process, nearest first: its own, in its environment and as
// a badge, those of the leaders of its group and session, and those of its ancestors. A
// process that no command started has none. An error means that the process cannot be
// inspected, for instance because it has ended.
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

// marksOn returns the marks of one process. A process that cannot be read, as those of other
// users, has none.
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
