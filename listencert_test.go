package swarm_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/nats-io/nats.go"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newECKey(t)
	like := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, like, like, &key.PublicKey, key)
	ok(t, err)
	cert, err := x509.ParseCertificate(raw)
	ok(t, err)
	return authority{cert, key, writePEM(t, "CERTIFICATE", raw)}
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	return key
}

func writePEM(t *testing.T, kind string, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	ok(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600))
	return path
}

// issue returns the files of a certificate for 127.0.0.1 and of its key. Without an
// authority it signs itself.
func issue(t *testing.T, by *authority, until time.Time) (cert, key string) {
	t.Helper()
	own := newECKey(t)
	like := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "session"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	parent, signer := like, own
	if by != nil {
		parent, signer = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, like, parent, &own.PublicKey, signer)
	ok(t, err)
	secret, err := x509.MarshalECPrivateKey(own)
	ok(t, err)
	return writePEM(t, "CERTIFICATE", raw), writePEM(t, "EC PRIVATE KEY", secret)
}

// A session with a certificate speaks TLS to programs outside and nothing else; the
// processes of its user reach it as ever, and so it goes on when it is opened again.
func TestABusWithACertificateSpeaksTLS(t *testing.T) {
	by := newAuthority(t)
	cert, key := issue(t, &by, time.Now().Add(time.Hour))
	dir := t.TempDir()
	o := swarm.Options{StateDir: t.TempDir(), NewSession: "s1", Listen: "127.0.0.1:0", ListenWebSocket: "127.0.0.1:0", ListenCert: cert, ListenKey: key}
	s := sessionIn(t, dir, leadFor(), o)
	ok(t, s.Begin())
	awaitBus(t, s)
	remoteOf(t, s)
	spoken := func(s *swarm.Session) swarm.BusCredentials {
		t.Helper()
		c, err := s.Bus().AddUser("bob")
		ok(t, err)
		if !strings.HasPrefix(c.URL, "tls://127.0.0.1:") || !strings.HasPrefix(c.WebSocket, "wss://127.0.0.1:") || !c.Untrusted || c.CA != "" {
			t.Errorf("the credentials are %+v", c)
		}
		return c
	}
	c := spoken(s)
	seed := filepath.Join(t.TempDir(), "bob.nk")
	ok(t, os.WriteFile(seed, []byte(c.Seed), 0o600))
	option, err := nats.NkeyOptionFromSeed(seed)
	ok(t, err)
	for _, url := range []string{c.URL, c.WebSocket} {
		conn, err := nats.Connect(url, option, nats.RootCAs(by.file), nats.CustomInboxPrefix(c.Inbox()))
		ok(t, err)
		m, err := conn.Request(c.Subject("agents"), nil, 10*time.Second)
		if err != nil || !strings.Contains(string(m.Data), "lead") {
			t.Errorf("%s: %v, %v", url, m, err)
		}
		conn.Close()
		if conn, err := nats.Connect(url, option); err == nil {
			conn.Close()
			t.Errorf("%s: a certificate of an unknown authority was believed", url)
		}
	}
	plain := "nats://" + strings.TrimPrefix(c.URL, "tls://")
	if raw, err := net.Dial("tcp", strings.TrimPrefix(plain, "nats://")); err == nil { // a client without TLS
		_, err = raw.Write([]byte("CONNECT {\"verbose\":true}\r\nPING\r\n"))
		ok(t, err)
		ok(t, raw.SetReadDeadline(time.Now().Add(20*time.Second)))
		got := make([]byte, 64<<10)
		var heard strings.Builder
		for n, err := raw.Read(got); err == nil; n, err = raw.Read(got) {
			heard.Write(got[:n])
		}
		if strings.Contains(heard.String(), "PONG") || strings.Contains(heard.String(), "+OK") {
			t.Errorf("without TLS it answers %s", heard.String())
		}
		ok(t, raw.Close())
	}
	if _, err := exec.LookPath("nats"); err == nil {
		for _, url := range []string{c.URL, c.WebSocket} {
			cmd := exec.Command("nats", "--server", url, "--tlsca", by.file, "--nkey", seed, "--inbox-prefix", c.Inbox(), "req", "--raw", c.Subject("send"), `{"to":"lead","text":"hello"}`)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `"posted"`) {
				t.Errorf("nats --server %s says %s, %v", url, out, err)
			}
		}
	}
	for _, p := range s.Problems() {
		if strings.Contains(p, "TLS") {
			t.Errorf("it says %s", p)
		}
	}
	ok(t, s.Close())

	again := swarm.Options{StateDir: o.StateDir, Session: "s1"}
	s = sessionIn(t, dir, leadFor(), again)
	ok(t, s.Begin())
	awaitBus(t, s)
	spoken(s)
	ok(t, s.Close())
	again.ListenCert = swarm.Off
	s = sessionIn(t, dir, leadFor(), again)
	awaitBus(t, begun(t, s))
	if bus, err := s.Bus().State(); err != nil || !strings.HasPrefix(bus.URL, "nats://") {
		t.Errorf("without a certificate the bus is %+v, %v", bus, err)
	}
}

func begun(t *testing.T, s *swarm.Session) *swarm.Session {
	t.Helper()
	ok(t, s.Begin())
	return s
}

// The printed instructions for a user of the bus work unchanged: the URL has a name of the
// certificate, and a self-signed certificate is named.
func TestWhereABusWithACertificateIsReached(t *testing.T) {
	by := newAuthority(t)
	signed, _ := issue(t, &by, time.Now().Add(time.Hour))
	self, _ := issue(t, nil, time.Now().Add(time.Hour))
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{})
	ok(t, s.Close())
	for _, c := range []struct {
		listen, cert, url, ca string
		untrusted             bool
	}{
		{"127.0.0.1:4333", "", "nats://127.0.0.1:4333", "", false},
		{":4333", "", "nats://127.0.0.1:4333", "", false},
		{"127.0.0.1:0", "", "", "", false},
		{"off", signed, "", "", true},
		{"0.0.0.0:4333", signed, "tls://127.0.0.1:4333", "", true},
		{"10.1.2.3:4333", self, "tls://127.0.0.1:4333", self, false},
	} {
		info := s.Info()
		info.Listen, info.ListenCert = c.listen, c.cert
		got, err := swarm.AddBusUser(t.Context(), info, "bob")
		if err != nil || got.URL != c.url || got.CA != c.ca || got.Untrusted != c.untrusted {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
		if bus, err := swarm.KeptBus(info); err != nil || bus.URL != c.url {
			t.Errorf("%+v: %+v, %v", c, bus, err)
		}
		if info.TakesAnyPort() != strings.HasSuffix(c.listen, ":0") {
			t.Errorf("%s takes any port: %v", c.listen, info.TakesAnyPort())
		}
	}
}

func TestCertificatesThatCannotBeUsed(t *testing.T) {
	cert, key := issue(t, nil, time.Now().Add(time.Hour))
	_, other := issue(t, nil, time.Now().Add(time.Hour))
	old, oldKey := issue(t, nil, time.Now().Add(-time.Hour))
	for want, c := range map[string][3]string{
		"go together":                     {cert, "", ""},
		"nowhere.pem: no such file":       {filepath.Join(t.TempDir(), "nowhere.pem"), key, ""},
		"the key of the certificate":      {cert, filepath.Join(t.TempDir(), "nowhere.pem"), ""},
		"holds no certificate":            {key, key, ""},
		"is not the key of":               {cert, other, ""},
		"has expired":                     {old, oldKey, ""},
		"is for a session that listens":   {cert, key, "off"},
		"--listen-cert off":               {cert, other, ""},
		"name other files with --listen-": {cert, cert, ""},
	} {
		_, err := swarm.Open(t.Context(), swarm.Options{
			Dir: t.TempDir(), StateDir: t.TempDir(), Home: t.TempDir(), Getenv: func(string) string { return "" },
			Listen: cmp.Or(c[2], "127.0.0.1:0"), ListenCert: c[0], ListenKey: c[1],
		})
		if wrong := (*swarm.OptionError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("instead of %q: %v", want, err)
		}
	}
}
