package swarm

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/session"
)

// listen is where the session's bus listens.
func (o *Options) listen() bus.Listen {
	return bus.Listen{TCP: o.Listen, WebSocket: o.ListenWebSocket, Cert: o.ListenCert, Key: o.ListenKey}
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

// settleCert makes the paths absolute. Whether the files fit is seen when the
// session is opened.
func (o *Options) settleCert() error {
	if o.ListenCert == session.Off {
		return nil
	}
	if (o.ListenCert == "") != (o.ListenKey == "") {
		return &OptionError{Err: errors.New("--listen-cert and --listen-key go together; give both, or off as the certificate for none")}
	}
	for _, path := range []*string{&o.ListenCert, &o.ListenKey} {
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

// inheritCert lets a session listen with the certificate it had.
func (o *Options) inheritCert(i *Info) {
	switch o.ListenCert {
	case "":
		o.ListenCert, o.ListenKey = i.ListenCert, i.ListenKey
	case session.Off:
		o.ListenCert, o.ListenKey = "", ""
	}
	i.ListenCert, i.ListenKey = o.ListenCert, o.ListenKey
}

// checkCert says why the session cannot listen with its certificate; named is that of
// the options.
func (o *Options) checkCert(named string) error {
	if named != "" && named != session.Off && session.Listens(o.Listen) == "" && session.Listens(o.ListenWebSocket) == "" {
		return &OptionError{Err: errors.New("--listen-cert is for a session that listens; say where with --listen or --listen-websocket")}
	}
	if _, err := o.listen().Certificate(); err != nil {
		return &OptionError{Err: err}
	}
	return nil
}

// exposed says what is wrong with listeners that others than this machine reach.
func (o *Options) exposed() []string {
	var all []string
	if o.ListenCert != "" {
		return nil
	}
	for _, listen := range []string{o.Listen, o.ListenWebSocket} {
		host, _, err := net.SplitHostPort(listen)
		if err != nil || host == "localhost" {
			continue
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			all = append(all, fmt.Sprintf("the message bus listens on %s without TLS: keys are safe, and whoever is on the way reads what is said; give it a certificate with --listen-cert FILE --listen-key FILE, or listen on 127.0.0.1 and let others come through ssh", listen))
		}
	}
	return all
}
