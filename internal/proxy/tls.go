package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// checkName makes sure that a connection starts TLS with the name that was asked for, and
// returns what then starts it again.
func (p *Proxy) checkName(in net.Conn, start io.Reader, t target) (io.Reader, error) {
	if err := in.SetReadDeadline(time.Now().Add(headTime)); err != nil {
		return nil, err
	}
	var read bytes.Buffer
	name, err := serverName(io.TeeReader(start, &read))
	if err == nil && t.name != "" {
		if name, err = normal(name); err == nil && name != t.name {
			err = fmt.Errorf("TLS names %s", name)
		}
	}
	if err != nil {
		p.refused(t.String(), fmt.Errorf("at port 443 it takes TLS for that name: %w", err))
		return nil, err
	}
	return io.MultiReader(&read, start), in.SetReadDeadline(time.Time{})
}

var errRead = errors.New("the name was read")

// serverName reads the start of a TLS connection.
func serverName(r io.Reader) (name string, err error) {
	err = tls.Server(readOnly{r: r}, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, errRead
	}}).Handshake()
	if errors.Is(err, errRead) {
		return name, nil
	}
	return "", err
}

// readOnly is a connection of which only the start is read.
type readOnly struct {
	net.Conn
	r io.Reader
}

func (c readOnly) Read(b []byte) (int, error)       { return c.r.Read(b) }
func (c readOnly) Write([]byte) (int, error)        { return 0, io.ErrClosedPipe }
func (c readOnly) SetDeadline(time.Time) error      { return nil }
func (c readOnly) SetReadDeadline(time.Time) error  { return nil }
func (c readOnly) SetWriteDeadline(time.Time) error { return nil }
func (c readOnly) Close() error                     { return nil }
