package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is what the resolver of the tests knows.
var names = map[string]string{
	"listed.test": "127.0.0.1", "sub.listed.test": "127.0.0.1", "xn--bcher-kva.test": "127.0.0.1", "evil.test": "127.0.0.1",
	"inside.test": "10.0.0.5", "clouds.test": "169.254.169.254",
}

func resolve(_ context.Context, name string) ([]netip.Addr, error) {
	if at, ok := names[name]; ok {
		return []netip.Addr{netip.MustParseAddr(at)}, nil
	}
	return nil, errors.New("no such host")
}

// start starts a proxy and returns its address.
func start(t *testing.T, o Options) (*Proxy, *url.URL) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Resolve = resolve
	p := Start(l, o)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func hosts(t *testing.T, allowed, denied []string) Hosts {
	t.Helper()
	h, err := ParseHosts(allowed, denied)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// server answers each request with the host that it was for, and returns its port.
func server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "to ", r.Host) }))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

// get sends the bytes of a request for a host to a proxy and returns the answer's status.
func get(t *testing.T, proxy *url.URL, host string) (status int) {
	t.Helper()
	return send(t, proxy, "GET http://"+host+"/ HTTP/1.1\r\nHost: listed.test\r\nConnection: close\r\n\r\n")
}

func connect(t *testing.T, proxy *url.URL, host string) (status int) {
	t.Helper()
	return send(t, proxy, "CONNECT "+host+" HTTP/1.1\r\nHost: listed.test\r\n\r\n")
}

func send(t *testing.T, proxy *url.URL, text string) (status int) {
	t.Helper()
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode
}

func TestOnlyListedHostsAreReached(t *testing.T) {
	t.Parallel()
	port := server(t)
	_, proxy := start(t, Options{Hosts: hosts(t,
		[]string{"listed.test:" + port, "*.listed.test:" + port, "bücher.test:" + port, "127.0.0.1:" + port},
		[]string{"denied.listed.test"})})
	for host, want := range map[string]int{
		"listed.test": 200, "LISTED.test": 200, "listed.test.": 200, "sub.listed.test": 200, "xn--bcher-kva.test": 200,
		"127.0.0.1": 200, "evil.test": 403, "notlisted.test": 403, "listed.test.evil.test": 403, "denied.listed.test": 403,
		"0x7f.0.0.1": 403, "2130706433": 403, "127.1": 403, "0177.0.0.1": 403, "[::1]": 403, "127.0.0.2": 403,
		"listed.test%00.evil.test": 403, "evil.test%2elisted.test": 403, "localhost": 403,
	} {
		plain, tunnel := get(t, proxy, host+":"+port), connect(t, proxy, host+":"+port)
		if tunnel != want && (want == 200 || tunnel != http.StatusBadRequest) {
			t.Errorf("CONNECT %s: %d, want %d", host, tunnel, want)
		}
		if plain != want && (want == 200 || plain != http.StatusBadRequest) {
			t.Errorf("GET %s: %d, want %d", host, plain, want)
		}
	}
	if got := get(t, proxy, "listed.test:1"); got != 403 {
		t.Errorf("a port that is not listed: %d", got)
	}
}

// TestTheHostOfARequestIsThatOfItsURL: a header cannot name another one.
func TestTheHostOfARequestIsThatOfItsURL(t *testing.T) {
	t.Parallel()
	port := server(t)
	_, proxy := start(t, Options{Hosts: hosts(t, []string{"listed.test:" + port, "127.0.0.1"}, nil)})
	c, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET http://listed.test:"+port+"/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(text), "to listed.test:"+port) {
		t.Errorf("the server answers %q, %v", text, err)
	}
}

func TestNamesLeadToPublicAddresses(t *testing.T) {
	t.Parallel()
	port := server(t)
	any := []string{"*", "listed.test:" + port, "inside.test:" + port, "clouds.test:" + port}
	_, proxy := start(t, Options{Hosts: hosts(t, any, nil)})
	for _, host := range []string{"listed.test", "inside.test", "clouds.test"} {
		if got := connect(t, proxy, host+":"+port); got != 403 {
			t.Errorf("%s: %d", host, got)
		}
	}
	_, proxy = start(t, Options{Hosts: hosts(t, append(any, "127.0.0.0/8"), nil)})
	if got := connect(t, proxy, "listed.test:"+port); got != 200 {
		t.Errorf("a listed address: %d", got)
	}
	_, proxy = start(t, Options{Hosts: hosts(t, append(any, "127.0.0.0/8"), []string{"127.0.0.1"})})
	if got := connect(t, proxy, "listed.test:"+port); got != 403 {
		t.Errorf("a denied address: %d", got)
	}
	for _, a := range []string{
		"127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "224.0.0.1", "::1", "::",
		"fe80::1", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "168.63.129.16", "255.255.255.255",
	} {
		if public(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "2606:4700::1111"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
}

// TestTheNameOfTLSIsTheHost goes by what checkName accepts, as the port is 443.
func TestTheNameOfTLSIsTheHost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"listed.test": true, "Listed.Test": true, "evil.test": false, "": false} {
		client, served := net.Pipe()
		go func() {
			_ = tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() // it gets no answer
		}()
		p := &Proxy{}
		again, err := p.checkName(served, served, target{name: "listed.test", port: 443})
		if (err == nil) != want {
			t.Errorf("TLS for %q: %v", name, err)
		}
		if err == nil {
			if got, err := serverName(again); err != nil || !strings.EqualFold(got, name) {
				t.Errorf("what was read is not sent on: %q, %v", got, err)
			}
		}
		client.Close()
		served.Close()
	}
	client, served := net.Pipe()
	go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n") }()
	if _, err := (&Proxy{}).checkName(served, served, target{name: "listed.test", port: 443}); err == nil {
		t.Error("what is not TLS passes at port 443")
	}
	client.Close()
	served.Close()
}

func TestRefusalsAreKnown(t *testing.T) {
	t.Parallel()
	p, proxy := start(t, Options{Hosts: hosts(t, nil, []string{"denied.test"})})
	for range 3 {
		connect(t, proxy, "evil.test:443")
	}
	connect(t, proxy, "denied.test:443")
	got := fmt.Sprint(p.Refusals())
	if want := fmt.Sprint([]Refusal{{"evil.test:443", errNotListed.Error()}, {"denied.test:443", errDenied.Error()}}); got != want {
		t.Errorf("it knows %s, want %s", got, want)
	}
	for i := range 100 {
		connect(t, proxy, fmt.Sprintf("evil%d.test:443", i))
	}
	if n := len(p.Refusals()); n > maxRefusals {
		t.Errorf("it knows %d", n)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, o := range []Options{{Hosts: hosts(t, []string{silent.Addr().String()}, nil)}, {To: silent.Addr().String()}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p := Start(l, o)
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "CONNECT "+silent.Addr().String()+" HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		other, err := silent.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.EOF) {
			t.Logf("the connection ended with %v", err)
		}
		other.Close()
		c.Close()
	}
}

func TestWrongEntriesAreNamed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a b", "https://example.com", "example.com/path", "*.*.com", "exa*mple.com", "example.com:0", "example.com:http", "0x7f.1"} {
		if _, err := ParseHosts([]string{text}, nil); err == nil {
			t.Errorf("%q is a host", text)
		}
	}
	h, err := ParseHosts([]string{"wrong entry", "right.test"}, nil)
	if err == nil || h.admits(target{name: "right.test", port: 443}) != nil {
		t.Error("a wrong entry takes others along, or is not named")
	}
}

// brokenListener fails at the first connection.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errBroken }

var errBroken = errors.New("broken")

func TestCloseReturnsWhatEndedTheService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Start(brokenListener{l}, Options{})
	p.served.Wait()
	if err := p.Close(); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}
