package defs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// replaceableByOthers says in which state of a managed file, or of a directory above it,
// somebody other than the user and root can write or replace it, or returns "". Of other
// files that is the user's own choice.
func replaceableByOthers(path string) string {
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		paths = append(paths, real)
	}
	for _, p := range paths {
		for first := true; ; p, first = filepath.Dir(p), false {
			info, err := os.Stat(p)
			if err != nil {
				return "" // reading it fails, too
			}
			if why := looseMode(p, info); why != "" && (first || info.Mode()&fs.ModeSticky == 0) {
				return why
			}
			if p == filepath.Dir(p) {
				break
			}
		}
	}
	return ""
}

func looseMode(path string, info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Sprintf("while everybody can write %s (chmod o-w)", path)
	case ok && info.Mode().Perm()&0o020 != 0 && stat.Gid != 0 && int(stat.Gid) != os.Getegid():
		return fmt.Sprintf("while a group (%d) can write %s (chmod g-w)", stat.Gid, path)
	case ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Sprintf("while %s belongs to another user (%d)", path, stat.Uid)
	}
	return ""
}
