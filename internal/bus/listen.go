package bus

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/actorswarm/swarm/session"
)

// Listen says where the embedded server listens besides its socket.
type Listen struct {
	TCP, WebSocket string // host and port; "" or session.Off is nowhere
	Cert, Key      string // PEM files; "" or session.Off is no TLS
}

// nowhere reports that no listener is opened.
func (l Listen) nowhere() bool {
	return session.Listens(l.TCP) == "" && session.Listens(l.WebSocket) == ""
}

// listensAt is how a listener of a session that does not run will be reached, "" where
// that is not known.
func Address(i session.Info, scheme, address string) string {
	host, port, err := net.SplitHostPort(session.Listens(address))
	if err != nil || port == "0" {
		return ""
	}
	return busAddress(scheme, host, port, chain(i))
}

// reached is how a listener that is open at a URL is reached.
func reached(i session.Info, scheme, at string) string {
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return at
	}
	return busAddress(scheme, u.Hostname(), u.Port(), chain(i))
}

// cannotListen says what to do about an address that cannot be had.
func cannotListen(err error) error {
	if err == nil || !strings.Contains(err.Error(), "bind: ") {
		return err
	}
	return fmt.Errorf("%w; choose another address with --listen and --listen-websocket, or none with off", err)
}
