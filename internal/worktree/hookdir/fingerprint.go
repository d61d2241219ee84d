package hookdir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fingerprint hashes the name, mode, inode, size and times of everything below dir. Any
// write changes it, and so do some operations that change no byte. A directory counts
// by its name, its mode and what is in it.
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
		return "", fmt.Errorf("take the fingerprint of %s: %w", dir, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
