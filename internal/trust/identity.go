package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// identify returns the real path of a directory and its identity.
func identify(dir string) (path string, id identity, err error) {
	path, err = filepath.Abs(dir)
	if err != nil {
		return "", id, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", id, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", id, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return "", id, fmt.Errorf("%s is not a directory", path)
	}
	return path, identity{Device: uint64(stat.Dev), Inode: stat.Ino}, nil
}
