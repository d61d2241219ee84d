//go:build !linux

package nolink

import "golang.org/x/sys/unix"

// openDir opens a directory, which must be readable.
const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
