//go:build !darwin

package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// startOf returns when a process began, in ticks of the kernel; "" if there is none.
func startOf(pid int) string {
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
