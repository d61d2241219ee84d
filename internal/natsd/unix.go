package natsd

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"
)

// greetWithin bounds how long the server takes to greet who comes.
const greetWithin = 5 * time.Second

// maxSocketPath is the shortest limit among the systems we run on.
const maxSocketPath = 103

// InUseError says that a living process serves the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("another process serves %s; connect to it or stop it", e.Path)
}

// ServeUnix lets other processes of the same user in through a socket at path,
// until Stop. The directory is made with 0700; one that others may enter or have
// made is refused. A socket that a dead process left is replaced; *InUseError when its
// owner lives.
func (s *Server) ServeUnix(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	d, err := openDoor(path, s)
	if err != nil {
		return fmt.Errorf("natsd: serve the socket: %w", err)
	}
	s.doors = append(s.doors, d)
	return nil
}

// DialUnix connects to the server behind a socket of ServeUnix. The connection
// comes back by itself when the server does; its owner closes it. Errors that
// happen meanwhile show in the connection's status, or go to a nats.ErrorHandler
// among the options.
func DialUnix(path string, options ...nats.Option) (*nats.Conn, error) {
	// Nobody guesses the name, and so nobody else hears the answers.
	name := "swarm-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()
	options = append([]nats.Option{nats.CustomInboxPrefix(inbox(name))}, options...)
	nc, err := connect(unixDialer(path), name, options...)
	if err != nil {
		return nil, fmt.Errorf("natsd: connect to the server behind %s, is it running: %w", path, err)
	}
	return nc, nil
}

// inbox is where a connection of DialUnix gets its answers.
func inbox(name string) string { return "_INBOX." + name }

type unixDialer string

// InProcessConn turns a server of another user away: the directory of the socket
// may lie where everybody can make it first.
func (u unixDialer) InProcessConn() (net.Conn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: string(u), Net: "unix"})
	if err != nil {
		return nil, err
	}
	if _, err := ownPeer(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// door is one socket and what came through it. It owns a goroutine for accepting
// and two for each connection.
type door struct {
	lock   *flock.Flock
	listen *net.UnixListener
	server *Server
	log    *slog.Logger
	done   chan struct{} // closed by close
	wait   sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

func openDoor(path string, server *Server) (*door, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is %d bytes and sockets allow %d; choose a shorter directory", path, len(path), maxSocketPath)
	}
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	// The lock, not a try to connect, tells the living from the dead: two processes
	// that start at once must not both replace the same stale socket.
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	listen, err := listenUnix(path)
	if err != nil {
		return nil, errors.Join(err, unlockSocket(lock))
	}
	d := &door{
		lock: lock, listen: listen, server: server, log: server.log.out.With("socket", path),
		done: make(chan struct{}), open: make(map[net.Conn]struct{}),
	}
	d.wait.Go(d.accept)
	return d, nil
}

// lockSocket takes the lock file beside a socket. Its holder removes the file
// when it is done, so a lock counts only while its file has its name.
func lockSocket(path string) (*flock.Flock, error) {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	for {
		switch got, err := lock.TryLock(); {
		case err != nil:
			return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
		case !got:
			return nil, errors.Join(&InUseError{Path: path}, lock.Close())
		}
		held, err := lock.Stat()
		if err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		if named, err := os.Stat(lock.Path()); err == nil && os.SameFile(held, named) {
			return lock, nil
		}
		if err := lock.Close(); err != nil { // the holder before has removed it meanwhile
			return nil, err
		}
	}
}

// unlockSocket gives the lock back and removes its file, which somebody may have
// removed with the directory.
func unlockSocket(lock *flock.Flock) error {
	err := os.Remove(lock.Path())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, lock.Close())
}

func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	mode := info.Mode()
	switch owner, ok := info.Sys().(*syscall.Stat_t); {
	case !mode.IsDir():
		return fmt.Errorf("%s is a link, which may come to lead elsewhere; put a directory there", dir)
	case !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("the directory %s belongs to another user; move it away", dir)
	case mode.Perm()&0o077 != 0:
		return fmt.Errorf("others may enter the directory %s (%#o); chmod 700 it", dir, mode.Perm())
	}
	return nil
}

func listenUnix(path string) (*net.UnixListener, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&os.ModeSocket == 0:
		return nil, fmt.Errorf("%s exists and is no socket; move it away", path)
	case err == nil:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	listen, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listen.Close())
	}
	return listen, nil
}

func (d *door) accept() {
	for {
		conn, err := d.listen.AcceptUnix()
		if err == nil {
			if err := d.enter(conn); err != nil {
				d.log.Warn("turned a connection away", "error", errors.Join(err, conn.Close()))
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of file descriptors, most likely: others may give theirs back.
		d.log.Warn("could not accept a connection", "error", err)
		select {
		case <-d.done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *door) enter(conn *net.UnixConn) error {
	pid, err := ownPeer(conn)
	if err != nil {
		return err
	}
	inside, err := d.server.InProcessConn()
	if err != nil {
		return err
	}
	said, id, err := d.announce(inside, pid)
	if err != nil {
		return errors.Join(err, inside.Close())
	}
	if !d.track(conn, inside) {
		return errors.Join(ErrStopped, inside.Close())
	}
	d.wait.Go(func() {
		d.pump(conn, inside, said)
		d.server.guard.leave(id)
	})
	d.wait.Go(func() { d.pump(inside, conn, conn) })
	return nil
}

// announce tells the guard who is behind a connection that has just been made,
// before it can say anything. It returns what the server says on it, and the
// number of a connection that is a visitor's.
func (d *door) announce(inside net.Conn, pid int) (io.Reader, uint64, error) {
	who := d.server.visitor(pid)
	if who == nil {
		return inside, 0, nil
	}
	// The server's greeting is the only place where it tells the connection's number.
	if err := inside.SetReadDeadline(time.Now().Add(greetWithin)); err != nil {
		return nil, 0, err
	}
	said := bufio.NewReader(inside)
	line, err := said.ReadBytes('\n')
	if err != nil {
		return nil, 0, fmt.Errorf("read the server's greeting: %w", err)
	}
	var info struct {
		ID uint64 `json:"client_id"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(line, []byte("INFO ")), &info); err != nil || info.ID == 0 {
		return nil, 0, fmt.Errorf("the server's greeting does not tell the connection's number: %w", err)
	}
	d.server.guard.admit(info.ID, *who)
	return io.MultiReader(bytes.NewReader(line), said), info.ID, inside.SetReadDeadline(time.Time{})
}

// pump copies until one side ends, which ends both. said is what src says.
func (d *door) pump(dst, src net.Conn, said io.Reader) {
	_, err := io.Copy(dst, said)
	d.log.Debug("connection ended", "error", errors.Join(err, dst.Close(), src.Close()))
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, dst)
	delete(d.open, src)
}

func (d *door) track(conns ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	for _, c := range conns {
		d.open[c] = struct{}{}
	}
	return true
}

func (d *door) close() error {
	close(d.done)
	d.mu.Lock()
	d.closed = true
	errs := []error{d.listen.Close()}
	for c := range d.open {
		// Closed twice is the usual end: the pumps close too.
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	d.mu.Unlock()
	d.wait.Wait()
	return errors.Join(append(errs, unlockSocket(d.lock))...)
}
