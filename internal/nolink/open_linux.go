package nolink

import "golang.org/x/sys/unix"

// openDir opens a directory that may be searched and need not be readable.
const openDir = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
