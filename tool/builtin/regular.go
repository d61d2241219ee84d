package builtin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/actorswarm/swarm/internal/nolink"
)

// openRegular opens a file for reading and never blocks: it refuses a pipe without a
// writer, a device or a socket, even if one replaces the file before it is opened.
func openRegular(real string) (*os.File, fs.FileInfo, error) {
	if err := checkKind(real); err != nil {
		return nil, nil, err
	}
	f, err := nolink.Open(real)
	if err != nil {
		return nil, nil, err
	}
	info, err := checkOpen(f, real)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// checkKind refuses files that must not even be opened, since opening a device can act.
func checkKind(real string) error {
	for _, root := range []string{"/proc", "/dev", "/sys"} {
		if _, inside := within(root, real); inside {
			return fmt.Errorf("%s is part of %s, which file tools do not touch", real, root)
		}
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	return regular(real, info)
}

func checkOpen(f *os.File, real string) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return info, regular(real, info)
}

// regular refuses everything but regular files, with an error for the model.
func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder; use Glob, or ls through Bash, to see what is in it", path)
	}
	return fmt.Errorf("%s is not a regular file but a %s, which file tools do not touch", path, kindOf(info.Mode()))
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file (" + strings.TrimRight(m.Type().String(), "-") + ")"
}

// readSmall reads at most limit bytes of a regular file.
func readSmall(path string, limit int64) ([]byte, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return text, errors.Join(err, f.Close())
}
