package natsd

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// ownPeer returns the process at the other end of a connection, which must belong to the
// same user.
func ownPeer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var uid int
	var inner error
	err = raw.Control(func(fd uintptr) { uid, pid, inner = peerOf(int(fd)) })
	if err = errors.Join(err, inner); err != nil {
		return 0, err
	}
	if uid != os.Getuid() {
		return 0, fmt.Errorf("peer has user id %d", uid)
	}
	return pid, nil
}
