package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// outlet is what leads out of the network of a command that has one of its own: a socket
// that listens in there, made by the launcher, which hands it to this process before it
// becomes the command. Connections to it arrive here, outside.
type outlet struct {
	from     *os.File // where the launcher sends the socket
	listener net.Listener
}

// outletPort is the port of the listener in each network, whose only address is 127.0.0.1.
const outletPort = 3128

// proxyVariables tell programs of the outlet.
func proxyVariables() []string {
	at := "http://127.0.0.1:" + strconv.Itoa(outletPort)
	all := []string{"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1"}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		all = append(all, name+"="+at)
	}
	return all
}

// outlet adds the steps that enter a network of its own, with a loopback interface, and
// that send its listener to the outlet.
func (l *launcher) outlet() (*outlet, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a pair of sockets for the launcher: %w", err)
	}
	o := &outlet{from: os.NewFile(uintptr(pair[0]), "outlet")}
	to := l.file(os.NewFile(uintptr(pair[1]), "outlet"))
	l.add("make a network", unix.SYS_UNSHARE, num(unix.CLONE_NEWNET))
	l.raise("lo")
	made := l.add("make a socket", unix.SYS_SOCKET, num(unix.AF_INET), num(unix.SOCK_STREAM|unix.SOCK_CLOEXEC), num(0))
	own := l.spare()
	l.steps[made].store = l.add("number the socket", unix.SYS_DUP3, value{}, own, num(unix.O_CLOEXEC))
	at := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
	at = append(binary.BigEndian.AppendUint16(at, outletPort), 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	l.add("bind the socket", unix.SYS_BIND, own, l.place(at), num(len(at)))
	l.add("listen", unix.SYS_LISTEN, own, num(unix.SOMAXCONN))
	l.send(to, own)
	return o, nil
}

// raise adds the steps that bring a network interface up.
func (l *launcher) raise(name string) {
	request := make([]byte, 40) // struct ifreq
	copy(request, name)
	binary.NativeEndian.PutUint16(request[unix.IFNAMSIZ:], unix.IFF_UP)
	socket := l.add("make a socket", unix.SYS_SOCKET, num(unix.AF_INET), num(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), num(0))
	l.steps[socket].store = l.add("bring "+name+" up", unix.SYS_IOCTL, value{}, num(unix.SIOCSIFFLAGS), l.place(request))
}

// send adds the step that sends a file of the launcher over a Unix socket.
func (l *launcher) send(socket, file value) {
	text := l.place([]byte{0})
	vector := l.words(text.n, 1)
	l.pointers = append(l.pointers, vector.n)
	control := binary.NativeEndian.AppendUint64(nil, uint64(unix.CmsgLen(4)))
	control = binary.NativeEndian.AppendUint32(control, unix.SOL_SOCKET)
	control = binary.NativeEndian.AppendUint32(control, unix.SCM_RIGHTS)
	rights := l.place(append(control, make([]byte, unix.CmsgSpace(4)-len(control))...))
	l.numbers = append(l.numbers, placed{rights.n + uint64(len(control)), file})
	message := l.words(0, 0, vector.n, 1, rights.n, uint64(unix.CmsgSpace(4)), 0) // struct msghdr
	l.pointers = append(l.pointers, message.n+2*8, message.n+4*8)
	l.add("send the listener", unix.SYS_SENDMSG, socket, message, num(0))
}

// receive takes the listener, once the launcher has become the command.
func (o *outlet) receive() (err error) {
	defer func() { err = errors.Join(err, o.from.Close()) }()
	text, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(o.from.Fd()), text, rights, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return fmt.Errorf("receive the listener of a command's network: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return errors.Join(errors.New("the launcher sends no listener"), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return errors.Join(errors.New("the launcher sends no listener"), err)
	}
	file := os.NewFile(uintptr(files[0]), "listener")
	o.listener, err = net.FileListener(file)
	return errors.Join(err, file.Close())
}

// close gives back what was not received.
func (o *outlet) close() error { return o.from.Close() }

// Networks returns nil if this machine can give a command a network of its own, or why it
// cannot.
func (m Machine) Networks() error {
	if !m.Mounts && !m.Users {
		return errors.New("it takes a launcher that may make namespaces, and this user may not")
	}
	return networks(!m.Mounts)
}

// networks tries it once for each kind of launcher.
func networks(users bool) error {
	if users {
		return userNetworks()
	}
	return plainNetworks()
}

var (
	plainNetworks = sync.OnceValue(func() error { return mayNetwork(false) })
	userNetworks  = sync.OnceValue(func() error { return mayNetwork(true) })
)

func mayNetwork(users bool) error {
	l, m := &launcher{}, &mounts{users: users}
	if err := m.steps(l); err != nil {
		return err
	}
	o, err := l.outlet()
	if err != nil {
		return err
	}
	if err := l.try(); err != nil {
		return errors.Join(err, o.close())
	}
	if err := o.receive(); err != nil {
		return err
	}
	return o.listener.Close()
}
