package swarm

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/session"
)

// listensAt is how a listener of a session that does not run will be reached, "" where
// that is not known.
func listensAt(i Info, scheme, address string) string {
	host, port, err := net.SplitHostPort(session.Listens(address))
	if err != nil || port == "0" {
		return ""
	}
	return busAddress(scheme, host, port, chain(i))
}

// reached is how a listener that is open at a URL is reached.
func reached(i Info, scheme, at string) string {
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return at
	}
	return busAddress(scheme, u.Hostname(), u.Port(), chain(i))
}

func (o *Options) settleListen() error {
	for _, l := range []struct{ flag, address string }{{"--listen", o.Listen}, {"--listen-websocket", o.ListenWebSocket}} {
		if session.Listens(l.address) == "" {
			continue
		}
		_, digits, err := net.SplitHostPort(l.address)
		if port, bad := strconv.ParseUint(digits, 10, 16); err != nil || bad != nil || port > 1<<16-1 {
			return &OptionError{Err: fmt.Errorf("%s is %q; give a host and a port, such as 127.0.0.1:4222 (port 0: any that is free)", l.flag, l.address)}
		}
	}
	return nil
}

// inheritListen lets a session listen where it did, for those outside who know it
// by that.
func (o *Options) inheritListen(i *Info) {
	o.Listen, o.ListenWebSocket = cmp.Or(o.Listen, i.Listen), cmp.Or(o.ListenWebSocket, i.ListenWebSocket)
	i.Listen, i.ListenWebSocket = o.Listen, o.ListenWebSocket
}

// cannotListen says what to do about an address that cannot be had.
func (o *Options) cannotListen(err error) error {
	if err == nil || !strings.Contains(err.Error(), "bind: ") {
		return err
	}
	return fmt.Errorf("%w; choose another address with --listen and --listen-websocket, or none with off", err)
}
