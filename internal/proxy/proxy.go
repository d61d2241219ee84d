package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// The bounds of one command's connections.
const (
	maxConns    = 256
	maxRefusals = 10
	headTime    = 30 * time.Second // for a request, and for what starts TLS
	dialTime    = 30 * time.Second
)

// Options configure a proxy.
type Options struct {
	Hosts Hosts
	// Resolve finds the addresses of a name; nil asks the system.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// To, if set, is the address of another proxy that gets all connections and decides
	// about them.
	To string
}

// Proxy serves the connections of one command.
type Proxy struct {
	options   Options
	server    http.Server
	transport http.Transport
	served    sync.WaitGroup // a goroutine for each connection and request, and for the listener

	mu       sync.Mutex
	refusals []Refusal          // guarded by mu
	open     map[io.Closer]bool // what Close ends; guarded by mu
	closed   bool               // guarded by mu
	failed   error              // what ended the listener before Close; guarded by mu
}

// Refusal is a host that a command was not connected with.
type Refusal struct {
	Host   string // with the port, as far as it was one
	Reason string
}

func (r Refusal) String() string { return r.Host + ": " + r.Reason }

// Start serves what a listener accepts. Close ends it, and closes the listener.
func Start(l net.Listener, o Options) *Proxy {
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	p := &Proxy{options: o, open: make(map[io.Closer]bool)}
	p.transport = http.Transport{DialContext: p.dial, DisableCompression: true}
	p.server = http.Server{Handler: p.handler(), ReadHeaderTimeout: headTime, ErrorLog: log.New(io.Discard, "", 0)}
	l = netutil.LimitListener(l, maxConns)
	p.served.Go(func() {
		if o.To != "" {
			p.forward(l)
			return
		}
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.failed = err
		}
	})
	return p
}

// Close ends all connections and returns when they have ended. It returns the error that
// ended the service before, if one did.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		_ = c.Close() // its users see the end
	}
	p.mu.Unlock()
	err := p.server.Close()
	p.served.Wait()
	p.transport.CloseIdleConnections()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.failed)
}

// begin counts a goroutine for which Close waits, unless it has been called, and has Close
// end some connections. The function that it returns undoes both.
func (p *Proxy) begin(ends ...io.Closer) (end func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	p.served.Add(1)
	for _, c := range ends {
		p.open[c] = true
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range ends {
			delete(p.open, c)
		}
		p.served.Done()
	}, true
}

// Refusals returns the first hosts that were refused, each once.
func (p *Proxy) Refusals() []Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refusals)
}

func (p *Proxy) refused(host string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Refusal{fmt.Sprintf("%.100q", host), why.Error()}
	if t, err := parseTarget(host); err == nil {
		r.Host = t.String()
	}
	if len(p.refusals) < maxRefusals && !slices.Contains(p.refusals, r) {
		p.refusals = append(p.refusals, r)
	}
}

// handler serves both kinds of request.
func (p *Proxy) handler() http.Handler {
	plain := &httputil.ReverseProxy{
		Transport: &p.transport, ErrorLog: log.New(io.Discard, "", 0), FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.In.URL.Host
			r.Out.Header.Del("Upgrade") // CONNECT is for what is not HTTP
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { answer(w, err) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done, ok := p.begin()
		if !ok {
			return
		}
		defer done()
		switch {
		case r.Method == http.MethodConnect:
			p.connect(w, r)
		case r.URL.Scheme == "http" && r.URL.Host != "":
			plain.ServeHTTP(w, r)
		default:
			http.Error(w, "this is a proxy for HTTP: send a whole URL, or CONNECT", http.StatusBadRequest)
		}
	})
}

// refusal is the error of a connection that may not be made.
type refusal struct{ error }

// answer reports an error to the command.
func answer(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if errors.As(err, &refusal{}) {
		status = http.StatusForbidden
	}
	http.Error(w, "swarm: "+err.Error(), status)
}

// dial connects with a host that may be reached, at an address that may be.
func (p *Proxy) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	refuse := func(why error) (net.Conn, error) {
		p.refused(hostport, why)
		return nil, refusal{fmt.Errorf("the sandbox does not connect with %q: %w", hostport, why)}
	}
	t, err := parseTarget(hostport)
	if err == nil {
		err = p.options.Hosts.admits(t)
	}
	if err != nil {
		return refuse(err)
	}
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		if addrs, err = p.options.Resolve(ctx, t.name); err != nil {
			return nil, err
		}
	}
	for _, a := range addrs {
		if err := p.options.Hosts.reaches(a.Unmap(), t.port); err != nil {
			return refuse(err)
		}
	}
	return dialFirst(ctx, network, t, addrs)
}

// dialFirst connects with the first address that answers.
func dialFirst(ctx context.Context, network string, t target, addrs []netip.Addr) (c net.Conn, err error) {
	err = fmt.Errorf("%s has no address", t)
	for _, a := range addrs {
		if c, err = (&net.Dialer{}).DialContext(ctx, network, netip.AddrPortFrom(a.Unmap(), t.port).String()); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// connect serves CONNECT.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	out, err := p.dial(r.Context(), "tcp", host)
	if err != nil {
		answer(w, err)
		return
	}
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(w, errors.Join(err, out.Close()))
		return
	}
	if _, err = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
		var start io.Reader = buffered.Reader
		if t, parsed := parseTarget(host); parsed == nil && t.port == 443 {
			start, err = p.checkName(in, start, t)
		}
		if err == nil {
			p.join(in, start, out)
			return
		}
	}
	hangUp(in, out)
}

// join copies both ways until both sides have ended, or the proxy does.
func (p *Proxy) join(in net.Conn, start io.Reader, out net.Conn) {
	end, ok := p.begin(in, out)
	if !ok {
		hangUp(in, out)
		return
	}
	defer end()
	var both sync.WaitGroup
	both.Go(func() { copyTo(out, start) })
	both.Go(func() { copyTo(in, out) })
	both.Wait()
	hangUp(in, out)
}

// hangUp closes connections for good. Each side sees the end whether or not Close fails.
func hangUp(conns ...net.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// copyTo copies until the end and hands it on.
func copyTo(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite()
	}
	if err != nil {
		_ = to.Close() // the other direction ends with it
	}
}

// forward connects everything with another proxy.
func (p *Proxy) forward(l net.Listener) {
	end, ok := p.begin(l)
	if !ok {
		return
	}
	defer end()
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		p.served.Go(func() {
			out, err := net.DialTimeout("tcp", p.options.To, dialTime)
			if err != nil {
				p.refused(p.options.To, errors.New("nothing listens at the port of sandbox.network.httpProxyPort"))
				hangUp(in)
				return
			}
			p.join(in, in, out)
		})
	}
}

// AtPort returns the address of a proxy of the user's.
func AtPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
