package nolink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const maxLinks = 40 // symbolic links followed before a loop is assumed, as Linux does

// Resolve follows every link of an absolute path. What does not exist is kept as it is
// written, so that a decision can be made about a file that is to be created, also through
// a link to a file that does not exist.
func Resolve(path string) (string, error) {
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("follow the links of %s: %w", path, err)
		}
		parent, err := Resolve(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return filepath.Join(parent, filepath.Base(path)), nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(parent, target)
		}
		path = filepath.Clean(target)
	}
	return "", fmt.Errorf("%s leads through more than %d links", path, maxLinks)
}
