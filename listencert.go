package swarm

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/session"
)

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
	_, err := o.certificate()
	return err
}

// certificate reads what the session listens with; nil is no TLS.
func (o *Options) certificate() (*tls.Certificate, error) {
	if o.ListenCert == "" || o.ListenCert == session.Off || session.Listens(o.Listen) == "" && session.Listens(o.ListenWebSocket) == "" {
		return nil, nil
	}
	refuse := func(format string, args ...any) error {
		return &OptionError{Err: fmt.Errorf(format+"; name other files with --listen-cert and --listen-key, or listen without TLS with --listen-cert off", args...)}
	}
	cert, err := os.ReadFile(o.ListenCert)
	if err != nil {
		return nil, refuse("the certificate to listen with cannot be read: %w", err)
	}
	key, err := os.ReadFile(o.ListenKey)
	if err != nil {
		return nil, refuse("the key of the certificate to listen with cannot be read: %w", err)
	}
	defer clear(key)
	pair, err := tls.X509KeyPair(cert, key)
	switch {
	case err != nil && len(certificates(cert)) == 0:
		return nil, refuse("%s holds no certificate in PEM form", o.ListenCert)
	case err != nil:
		return nil, refuse("%s is not the key of the certificate in %s: %w", o.ListenKey, o.ListenCert, err)
	case time.Now().After(pair.Leaf.NotAfter):
		return nil, refuse("the certificate in %s has expired (%s)", o.ListenCert, pair.Leaf.NotAfter.Local().Format(time.DateTime))
	}
	return &pair, nil
}

// certificates returns those of a PEM file, its own first.
func certificates(raw []byte) (all []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			return all
		}
		if cert, err := x509.ParseCertificate(block.Bytes); block.Type == "CERTIFICATE" && err == nil {
			all = append(all, cert)
		}
	}
}

// busAddress is how programs outside reach a listener at host and port: by a name that
// its certificate has, if it has one.
func busAddress(scheme, host, port string, chain []*x509.Certificate) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if len(chain) > 0 {
		scheme = map[string]string{"nats": "tls", "ws": "wss"}[scheme]
		host = hostIn(chain[0], host)
	}
	return (&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}).String()
}

// hostIn returns where a certificate says it is: at host if it says so.
func hostIn(cert *x509.Certificate, host string) string {
	if cert.VerifyHostname(host) == nil {
		return host
	}
	for _, name := range cert.DNSNames {
		if !strings.HasPrefix(name, "*") {
			return name
		}
	}
	if len(cert.IPAddresses) > 0 {
		return cert.IPAddresses[0].String()
	}
	return host
}

// chain returns the certificates that the session listens with, none without TLS.
func chain(i Info) []*x509.Certificate {
	if i.ListenCert == "" {
		return nil
	}
	raw, err := os.ReadFile(i.ListenCert)
	if err != nil {
		return nil // told when the session is opened
	}
	return certificates(raw)
}

// trust says whether programs on this machine believe a certificate as it is, and if
// not, whether they do when they are given its file as that of its authority.
func trust(chain []*x509.Certificate) (asItIs, byItself bool) {
	if len(chain) == 0 {
		return true, true
	}
	between, roots := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range chain {
		between.AddCert(c)
		roots.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Intermediates: between})
	if err == nil {
		return true, true
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Intermediates: between, Roots: roots})
	last := chain[len(chain)-1]
	return false, err == nil && (last.IsCA || slices.Equal(last.RawIssuer, last.RawSubject))
}
