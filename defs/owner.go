package defs

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// writableByOthers says in which state of a file somebody other than the user and root can
// write it, or returns "".
func writableByOthers(info fs.FileInfo) string {
	if info.Mode().Perm()&0o002 != 0 {
		return "while everybody can write the file (chmod o-w)"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Sprintf("while the file belongs to another user (%d)", stat.Uid)
	}
	return ""
}
