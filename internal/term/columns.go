package term

import "golang.org/x/sys/unix"

// Columns returns the width of the terminal behind out, if there is one.
func Columns(out any) (n int, terminal bool) {
	n, _, terminal = Size(out)
	return n, terminal
}

// Size returns the width and the height of the terminal behind out, if there is one.
func Size(out any) (columns, rows int, terminal bool) {
	f, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return 0, 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}
