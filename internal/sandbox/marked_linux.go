package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Marked reports whether a process runs below a command that this process, or one like
// it, has started: it has no_new_privs and this process has not, or it has more seccomp
// filters. Neither can be shed. It is an error when the process cannot be read.
func Marked(pid int) (bool, error) {
	theirs, err := marksOf(strconv.Itoa(pid))
	if err != nil {
		return false, err
	}
	ours, err := marksOf("self")
	if err != nil {
		return false, err
	}
	return theirs.noNewPrivs > ours.noNewPrivs || theirs.filters > ours.filters, nil
}

type marks struct{ noNewPrivs, filters int }

func marksOf(process string) (m marks, err error) {
	path := "/proc/" + process + "/status"
	status, err := os.ReadFile(path)
	if err != nil {
		return m, fmt.Errorf("read the marks of a process: %w", err)
	}
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		into := map[string]*int{"NoNewPrivs": &m.noNewPrivs, "Seccomp_filters": &m.filters}[string(name)]
		if into == nil {
			continue
		}
		if *into, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
			return m, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return m, nil
}
