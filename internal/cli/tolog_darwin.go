package cli

import (
	"golang.org/x/sys/unix"
)

func replaceFile(old, by int) error { return unix.Dup2(by, old) }
