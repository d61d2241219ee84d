package bus

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/session"
)

// Certificate reads the certificate of the listeners; nil is no TLS.
func (l Listen) Certificate() (*tls.Certificate, error) {
	if l.Cert == "" || l.Cert == session.Off || l.disabled() {
		return nil, nil
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf(format+"; name other files with --listen-cert and --listen-key, or listen without TLS with --listen-cert off", args...)
	}
	cert, err := os.ReadFile(l.Cert)
	if err != nil {
		return nil, refuse("the certificate to listen with cannot be read: %w", err)
	}
	key, err := os.ReadFile(l.Key)
	if err != nil {
		return nil, refuse("the key of the certificate to listen with cannot be read: %w", err)
	}
	defer clear(key)
	pair, err := tls.X509KeyPair(cert, key)
	switch {
	case err != nil && len(certificates(cert)) == 0:
		return nil, refuse("%s holds no certificate in PEM form", l.Cert)
	case err != nil:
		return nil, refuse("%s is not the key of the certificate in %s: %w", l.Key, l.Cert, err)
	case time.Now().After(pair.Leaf.NotAfter):
		return nil, refuse("the certificate in %s has expired (%s)", l.Cert, pair.Leaf.NotAfter.Local().Format(time.DateTime))
	}
	return &pair, nil
}

// certificates returns the certificates of a PEM file, the leaf first.
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

// busAddress returns the address of a listener at host and port for external programs: with
// a name of its certificate, if it has one.
func busAddress(scheme, host, port string, chain []*x509.Certificate) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if len(chain) > 0 {
		scheme = map[string]string{"nats": "tls", "ws": "wss"}[scheme]
		host = certificateHost(chain[0], host)
	}
	return (&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}).String()
}

// certificateHost returns the host of a certificate: the given one if the certificate is
// valid for it.
func certificateHost(cert *x509.Certificate, host string) string {
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

// chain returns the certificates of the listeners, none without TLS.
func chain(i session.Info) []*x509.Certificate {
	if i.ListenCert == "" {
		return nil
	}
	raw, err := os.ReadFile(i.ListenCert)
	if err != nil {
		return nil // reported when the session is opened
	}
	return certificates(raw)
}

// Trust reports whether programs on this machine trust the certificate of a session without
// further configuration, and if not, whether they do with its file as that of the
// authority.
func Trust(i session.Info) (asItIs, byItself bool) { return trust(chain(i)) }

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
