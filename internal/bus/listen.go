package bus

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/session"
)

// Listen is where the embedded server listens besides its socket.
type Listen struct {
	TCP, WebSocket string // host and port; "" or session.Off is nowhere
	Cert, Key      string // PEM files; "" or session.Off is no TLS
}

// Validate checks the addresses and makes the paths absolute. Its errors name the flags and
// are *session.OptionError. Certificate checks the files.
func (l *Listen) Validate() error { return errors.Join(l.checkAddresses(), l.resolveFiles()) }

func (l *Listen) checkAddresses() error {
	for _, a := range []struct{ flag, address string }{{"--listen", l.TCP}, {"--listen-websocket", l.WebSocket}} {
		if session.Listens(a.address) == "" {
			continue
		}
		_, digits, err := net.SplitHostPort(a.address)
		if port, bad := strconv.ParseUint(digits, 10, 16); err != nil || bad != nil || port > 1<<16-1 {
			return &session.OptionError{Err: fmt.Errorf("%s is %q; give a host and a port, such as 127.0.0.1:4222 (port 0: any that is free)", a.flag, a.address)}
		}
	}
	return nil
}

func (l *Listen) resolveFiles() error {
	if l.Cert == session.Off {
		return nil
	}
	if (l.Cert == "") != (l.Key == "") {
		return &session.OptionError{Err: errors.New("--listen-cert and --listen-key go together; give both, or off as the certificate for none")}
	}
	for _, path := range []*string{&l.Cert, &l.Key} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("find the certificate to listen with: %w", err)
		}
		*path = abs
	}
	return nil
}

// Inherit takes missing values from the record of a session, so that external programs find
// the session where it was, and writes the result into the record. Then it checks that the
// session can listen there; the error is a *session.OptionError.
func (l *Listen) Inherit(i *session.Info) error {
	given := l.Cert
	l.TCP, l.WebSocket = cmp.Or(l.TCP, i.Listen), cmp.Or(l.WebSocket, i.ListenWebSocket)
	switch l.Cert {
	case "":
		l.Cert, l.Key = i.ListenCert, i.ListenKey
	case session.Off:
		l.Cert, l.Key = "", ""
	}
	i.Listen, i.ListenWebSocket, i.ListenCert, i.ListenKey = l.TCP, l.WebSocket, l.Cert, l.Key
	if session.Listens(given) != "" && l.disabled() {
		return &session.OptionError{Err: errors.New("--listen-cert is for a session that listens; say where with --listen or --listen-websocket")}
	}
	if _, err := l.Certificate(); err != nil {
		return &session.OptionError{Err: err}
	}
	return nil
}

// Exposed returns one warning for each listener without TLS that other machines can reach.
func (l Listen) Exposed() (warnings []string) {
	if l.Cert != "" {
		return nil
	}
	for _, listen := range []string{l.TCP, l.WebSocket} {
		host, _, err := net.SplitHostPort(listen)
		if err != nil || host == "localhost" {
			continue
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			warnings = append(warnings, fmt.Sprintf("the message bus listens on %s without TLS: keys are safe, and whoever is on the way reads what is said; give it a certificate with --listen-cert FILE --listen-key FILE, or listen on 127.0.0.1 and let others come through ssh", listen))
		}
	}
	return warnings
}

// disabled reports that no listener is opened.
func (l Listen) disabled() bool {
	return session.Listens(l.TCP) == "" && session.Listens(l.WebSocket) == ""
}

// listensAt returns the future address of a listener of a session that does not run, "" if
// it is not known.
func Address(i session.Info, scheme, address string) string {
	host, port, err := net.SplitHostPort(session.Listens(address))
	if err != nil || port == "0" {
		return ""
	}
	return busAddress(scheme, host, port, chain(i))
}

// reachableURL returns the address at which an open listener can be reached.
func reachableURL(i session.Info, scheme, at string) string {
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return at
	}
	return busAddress(scheme, u.Hostname(), u.Port(), chain(i))
}

// listenError adds a remedy to the error of an address that cannot be used.
func listenError(err error) error {
	if err == nil || !strings.Contains(err.Error(), "bind: ") {
		return err
	}
	return fmt.Errorf("%w; choose another address with --listen and --listen-websocket, or none with off", err)
}
