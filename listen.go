package swarm

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Off is Options.Listen and ListenWebSocket for a session that has listened before
// and is not to.
const Off = "off"

// listens is where a listener is opened, "" for none.
func listens(address string) string {
	if address == Off {
		return ""
	}
	return address
}

// listensAt is how a listener of a session that does not run will be reached, "" where
// that is not known.
func (i Info) listensAt(scheme, address string) string {
	host, port, err := net.SplitHostPort(listens(address))
	if err != nil || port == "0" {
		return ""
	}
	return busAddress(scheme, host, port, i.chain())
}

// reached is how a listener that is open at a URL is reached.
func (i Info) reached(scheme, at string) string {
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return at
	}
	return busAddress(scheme, u.Hostname(), u.Port(), i.chain())
}

// TakesAnyPort reports that where the session listens is known only while it runs.
func (i Info) TakesAnyPort() bool {
	for _, address := range []string{i.Listen, i.ListenWebSocket} {
		if _, port, err := net.SplitHostPort(listens(address)); err == nil && port == "0" {
			return true
		}
	}
	return false
}

func (o *Options) settleListen() error {
	for _, l := range []struct{ flag, address string }{{"--listen", o.Listen}, {"--listen-websocket", o.ListenWebSocket}} {
		if listens(l.address) == "" {
			continue
		}
		_, digits, err := net.SplitHostPort(l.address)
		if port, bad := strconv.ParseUint(digits, 10, 16); err != nil || bad != nil || port > 1<<16-1 {
			return &OptionError{fmt.Errorf("%s is %q; give a host and a port, such as 127.0.0.1:4222 (port 0: any that is free)", l.flag, l.address)}
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
