package swarm

import (
	"cmp"
	"fmt"
	"net"
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

// listensAt is where a session that does not run will listen, "" where that is not known.
func listensAt(scheme, address string) string {
	_, port, err := net.SplitHostPort(listens(address))
	if err != nil || port == "0" {
		return ""
	}
	return scheme + "://" + address
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
