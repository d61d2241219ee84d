package cli

import (
	"errors"
	"fmt"
	"os"
)

// LogTo makes a file the standard output and error of this process. Readers of the
// earlier ones get the end of the file.
func LogTo(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the session: %w", err)
	}
	err = errors.Join(replaceFile(1, int(f.Fd())), replaceFile(2, int(f.Fd())), f.Close())
	if err != nil {
		return fmt.Errorf("write to %s: %w", path, err)
	}
	return nil
}
