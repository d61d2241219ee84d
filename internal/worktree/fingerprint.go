package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fingerprint says what everything below dir looks like, by name, kind, size
// and the times that the kernel keeps. Any write changes it, and so does some
// of what changes no byte. Directories count by what is in them.
func fingerprint(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if d.IsDir() {
			st.Size, st.Mtim, st.Ctim, st.Ino = 0, unix.Timespec{}, unix.Timespec{}, 0
		}
		_, err = fmt.Fprintf(sum, "%q %o %d %d %d.%d %d.%d\n", path, st.Mode, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look at what is in %s: %w", dir, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
