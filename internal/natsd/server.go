package natsd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// MaxPayload is the largest message of the server, in bytes: the largest envelope, with
// every byte escaped, and its headers.
const MaxPayload = 4 << 20

// maxSubscriptions bounds those of one connection: far more than a session of 1,000 agents
// makes.
const maxSubscriptions = 20_000

// maxMemory bounds JetStream's memory streams; all streams here are files.
const maxMemory = 64 << 20

// syncInterval is how often JetStream syncs changes to disk, and so what a power cut may
// lose.
const syncInterval = 5 * time.Second

// handshakeTimeout bounds a TLS handshake.
const handshakeTimeout = 5 * time.Second

// ErrStopped is the error of a stopped server.
var ErrStopped = errors.New("natsd: stopped")

// Options configures a Server; StoreDir is required.
type Options struct {
	StoreDir  string       // JetStream's files; made with 0700
	Listen    string       // host:port for NATS clients, port 0 for any; "" for no listener
	WebSocket string       // the same for clients that speak WebSocket
	Logger    *slog.Logger // nil discards
	// Certificate makes both listeners require TLS; nil is no TLS.
	Certificate *tls.Certificate
	// Users are all users that may connect to a listener; SetUsers changes them.
	Users []User
	// OnRefusal, if not nil, is called with what the server did not let a client do. It is
	// called from several goroutines; it must not block or call the server.
	OnRefusal func(Refusal)
	// Authorize returns the permissions of a process that connects to the socket; pid is
	// 0 if unknown. nil, also as its result, permits everything.
	Authorize func(pid int) *User
	MinFree   int64 // bytes that must be free on StoreDir's disk; 0 is 512 MiB
	// SyncAlways makes JetStream sync each message before it acknowledges. Mail does not
	// need it; it is for comparison and for the users' own streams.
	SyncAlways bool
}

// Server is a running server. Its goroutines end with Stop.
type Server struct {
	srv  *server.Server
	log  *logger
	auth *authenticator

	authorize func(pid int) *User
	webSocket bool

	mu            sync.Mutex
	conns         []*nats.Conn
	unixListeners []*unixListener
	stopped       bool
	done          chan struct{} // closed when Stop has finished
	err           error         // of Stop
}

// Start returns a server that is ready. ctx bounds the start only; the server runs until
// Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("natsd: start: %w", context.Cause(ctx))
	}
	opts, err := o.server()
	if err != nil {
		return nil, err
	}
	auth := newAuthenticator(o.Users, o.OnRefusal)
	opts.CustomClientAuthentication, opts.AlwaysEnableNonce = auth, true
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("natsd: configure the embedded server: %w", err)
	}
	auth.watch(srv)
	log := newLogger(o.Logger, auth.reportRefusal)
	srv.SetLoggerV2(log, false, false, false)
	srv.Start()
	s := &Server{srv: srv, log: log, auth: auth, authorize: o.Authorize, webSocket: o.WebSocket != "", done: make(chan struct{})}
	if s.authorize == nil {
		s.authorize = func(int) *User { return nil }
	}
	if err := s.Ready(); err != nil {
		return nil, errors.Join(fmt.Errorf("natsd: start the embedded server on %s: %w", o.StoreDir, err), s.Stop())
	}
	return s, nil
}

// server converts o to the options of nats-server.
func (o Options) server() (*server.Options, error) {
	store, err := o.store()
	if err != nil {
		return nil, err
	}
	opts := &server.Options{
		ServerName:             "swarm-" + strconv.Itoa(os.Getpid()),
		DontListen:             true,
		NoSigs:                 true,
		NoLog:                  true,
		MaxPayload:             MaxPayload,
		MaxSubs:                maxSubscriptions,
		JetStream:              true,
		DisableJetStreamBanner: true,
		StoreDir:               o.StoreDir,
		JetStreamMaxMemory:     maxMemory,
		JetStreamMaxStore:      store,
		SyncAlways:             o.SyncAlways,
		SyncInterval:           syncInterval,
	}
	if o.Listen != "" {
		if opts.Host, opts.Port, err = address(o.Listen); err != nil {
			return nil, err
		}
		opts.DontListen = false
	}
	if o.WebSocket != "" {
		if opts.Websocket.Host, opts.Websocket.Port, err = address(o.WebSocket); err != nil {
			return nil, err
		}
		opts.Websocket.NoTLS = true
		opts.Websocket.SameOrigin, opts.Websocket.AllowedOrigins = true, noOrigin
	}
	o.setTLS(opts)
	return opts, nil
}

// noOrigin makes the server refuse each request that names an origin, as those of pages
// in a browser do: no page has this one. Programs name none.
var noOrigin = []string{"https://origin.invalid"}

// setTLS makes the listeners require TLS if there is a certificate.
func (o Options) setTLS(opts *server.Options) {
	if o.Certificate == nil {
		return
	}
	config := &tls.Config{Certificates: []tls.Certificate{*o.Certificate}, MinVersion: tls.VersionTLS12}
	if o.Listen != "" {
		opts.TLS, opts.TLSConfig, opts.TLSTimeout = true, config, handshakeTimeout.Seconds()
	}
	if o.WebSocket != "" {
		opts.Websocket.NoTLS, opts.Websocket.TLSConfig, opts.Websocket.HandshakeTimeout = false, config.Clone(), handshakeTimeout
	}
}

// address splits host:port for nats-server, for which port 0 is the default port.
func address(listen string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("natsd: cannot listen on %q, write host:port: %w", listen, err)
	}
	if port, err = strconv.Atoi(digits); err != nil {
		return "", 0, fmt.Errorf("natsd: cannot listen on %q, the port must be a number: %w", listen, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// store creates the directory and returns how much of its disk JetStream may use.
func (o Options) store() (int64, error) {
	if o.StoreDir == "" || !filepath.IsAbs(o.StoreDir) {
		return 0, fmt.Errorf("natsd: the store directory %q must be an absolute path", o.StoreDir)
	}
	if err := os.MkdirAll(o.StoreDir, 0o700); err != nil {
		return 0, fmt.Errorf("natsd: make the store directory: %w", err)
	}
	free, err := freeBytes(o.StoreDir)
	if err != nil {
		return 0, fmt.Errorf("natsd: measure the disk of %s: %w", o.StoreDir, err)
	}
	need := o.MinFree
	if need == 0 {
		need = 512 << 20
	}
	if free < need {
		return 0, fmt.Errorf("natsd: the disk of %s has %d MiB free and %d MiB are needed; free some or choose another directory", o.StoreDir, free>>20, need>>20)
	}
	return min(free/4*3, 16<<30), nil
}

// Ready returns why the server is not ready, or nil.
func (s *Server) Ready() error {
	if err := s.log.failure(); err != nil {
		return err
	}
	if !s.srv.Running() {
		return ErrStopped
	}
	if s.srv.JetStreamConfig() == nil {
		return errors.New("natsd: JetStream is off; the server's log says why")
	}
	return nil
}

// ClientURL returns the URL for clients, or "" without a listener.
func (s *Server) ClientURL() string {
	if s.srv.Addr() == nil {
		return ""
	}
	return s.srv.ClientURL()
}

// WebSocketURL returns the URL for WebSocket clients, or "" without such a listener.
func (s *Server) WebSocketURL() string {
	if !s.webSocket {
		return ""
	}
	return s.srv.WebsocketURL()
}

// InProcessConn implements nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.srv.InProcessConn() }

// Conn returns a new connection inside this process; the server lists it under name. It
// costs some 84 KiB: share one. Stop closes it.
func (s *Server) Conn(name string) (*nats.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, ErrStopped
	}
	nc, err := connect(s, name, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		s.log.out.Warn("connection inside the process", "name", name, "error", err)
	}))
	if err != nil {
		return nil, fmt.Errorf("natsd: connect %s inside the process: %w", name, err)
	}
	s.conns = append(s.conns, nc)
	return nc, nil
}

func connect(p nats.InProcessConnProvider, name string, options ...nats.Option) (*nats.Conn, error) {
	// Without a handler the library prints to standard error.
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	return nats.Connect("", append([]nats.Option{
		nats.InProcessServer(p), nats.Name(name), quiet,
		nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 0),
	}, options...)...)
}

// Stop closes every connection and socket, then the server, and waits.
func (s *Server) Stop() error {
	s.mu.Lock()
	first := !s.stopped
	s.stopped = true
	s.mu.Unlock()
	if first {
		s.err = s.stop()
		close(s.done)
	}
	<-s.done
	return s.err
}

func (s *Server) stop() error {
	for _, nc := range s.conns {
		nc.Close()
	}
	var errs []error
	for _, d := range s.unixListeners {
		errs = append(errs, d.close())
	}
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	return errors.Join(errs...)
}
