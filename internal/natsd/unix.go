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

// greetingTimeout bounds how long the server takes to greet a client.
const greetingTimeout = 5 * time.Second

// maxSocketPath is the shortest limit among the supported systems.
const maxSocketPath = 103

// InUseError reports that a living process serves the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("another process serves %s; connect to it or stop it", e.Path)
}

// ServeUnix accepts other processes of the same user on a socket at path, until Stop. It
// creates the directory with mode 0700 and refuses one that others may enter or own. It
// replaces a socket that a dead process left, and returns *InUseError if its owner lives.
func (s *Server) ServeUnix(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	d, err := openUnixListener(path, s)
	if err != nil {
		return fmt.Errorf("natsd: serve the socket: %w", err)
	}
	s.unixListeners = append(s.unixListeners, d)
	return nil
}

// DialUnix connects to the server behind a socket of ServeUnix. The connection reconnects
// when the server restarts; its owner closes it. Errors in between change the connection's
// status, or go to a nats.ErrorHandler among the options.
func DialUnix(path string, options ...nats.Option) (*nats.Conn, error) {
	// Others cannot guess the name, and so cannot read the replies.
	name := "swarm-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text()
	options = append([]nats.Option{nats.CustomInboxPrefix(inbox(name))}, options...)
	nc, err := connect(unixDialer(path), name, options...)
	if err != nil {
		return nil, fmt.Errorf("natsd: connect to the server behind %s; check that it runs: %w", path, err)
	}
	return nc, nil
}

// inbox returns the subject of the replies to a connection of DialUnix.
func inbox(name string) string { return "_INBOX." + name }

type unixDialer string

// InProcessConn refuses a server of another user: if the directory of the socket is not
// private, another user may have created it first.
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

// unixListener is one socket with its connections. It runs one goroutine that accepts, and
// two for each connection.
type unixListener struct {
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

func openUnixListener(path string, server *Server) (*unixListener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is %d bytes and sockets allow %d; choose a shorter directory", path, len(path), maxSocketPath)
	}
	if err := privateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	// The lock, and not an attempt to connect, shows whether the owner lives: two processes
	// that start at once must not both replace the same stale socket.
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	listen, err := listenUnix(path)
	if err != nil {
		return nil, errors.Join(err, unlockSocket(lock))
	}
	d := &unixListener{
		lock: lock, listen: listen, server: server, log: server.log.out.With("socket", path),
		done: make(chan struct{}), open: make(map[net.Conn]struct{}),
	}
	d.wait.Go(d.accept)
	return d, nil
}

// lockSocket acquires the lock file beside a socket. Its holder removes the file at the
// end, so that a lock counts only while the file has its name.
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
		if err := lock.Close(); err != nil { // the previous holder has removed it meanwhile
			return nil, err
		}
	}
}

// unlockSocket releases the lock and removes its file, which may be gone with the directory.
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
		return fmt.Errorf("%s is a link, whose target may change; put a directory there", dir)
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

func (d *unixListener) accept() {
	for {
		conn, err := d.listen.AcceptUnix()
		if err == nil {
			if err := d.enter(conn); err != nil {
				d.log.Warn("refused a connection", "error", errors.Join(err, conn.Close()))
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Probably there are no file descriptors; others may close some.
		d.log.Warn("could not accept a connection", "error", err)
		select {
		case <-d.done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *unixListener) enter(conn *net.UnixConn) error {
	pid, err := ownPeer(conn)
	if err != nil {
		return err
	}
	inside, err := d.server.InProcessConn()
	if err != nil {
		return err
	}
	greeting, id, err := d.identify(inside, pid)
	if err != nil {
		return errors.Join(err, inside.Close())
	}
	if !d.track(conn, inside) {
		return errors.Join(ErrStopped, inside.Close())
	}
	d.wait.Go(func() {
		d.pump(conn, inside, greeting)
		d.server.auth.removeVisitor(id)
	})
	d.wait.Go(func() { d.pump(inside, conn, conn) })
	return nil
}

// identify registers the process behind a new connection before it can send anything. It
// returns the server's greeting, and the number of the connection if it is a visitor's.
func (d *unixListener) identify(inside net.Conn, pid int) (io.Reader, uint64, error) {
	user := d.server.authorize(pid)
	if user == nil {
		return inside, 0, nil
	}
	// Only the greeting contains the number of the connection.
	if err := inside.SetReadDeadline(time.Now().Add(greetingTimeout)); err != nil {
		return nil, 0, err
	}
	greeting := bufio.NewReader(inside)
	line, err := greeting.ReadBytes('\n')
	if err != nil {
		return nil, 0, fmt.Errorf("read the server's greeting: %w", err)
	}
	var info struct {
		ID uint64 `json:"client_id"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(line, []byte("INFO ")), &info); err != nil || info.ID == 0 {
		return nil, 0, fmt.Errorf("the server's greeting lacks the connection's number: %w", err)
	}
	d.server.auth.registerVisitor(info.ID, *user)
	return io.MultiReader(bytes.NewReader(line), greeting), info.ID, inside.SetReadDeadline(time.Time{})
}

// pump copies until one side ends, which ends both. src is read after greeting.
func (d *unixListener) pump(dst, src net.Conn, greeting io.Reader) {
	_, err := io.Copy(dst, greeting)
	d.log.Debug("connection ended", "error", errors.Join(err, dst.Close(), src.Close()))
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, dst)
	delete(d.open, src)
}

func (d *unixListener) track(conns ...net.Conn) bool {
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

func (d *unixListener) close() error {
	close(d.done)
	d.mu.Lock()
	d.closed = true
	errs := []error{d.listen.Close()}
	for c := range d.open {
		// Usually the pumps have closed them already.
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	d.mu.Unlock()
	d.wait.Wait()
	return errors.Join(append(errs, unlockSocket(d.lock))...)
}
