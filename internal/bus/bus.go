package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/actorswarm/swarm/session"
	"github.com/nats-io/nats.go"
)

// ErrStopped is the error of every call of a bus that was stopped.
var ErrStopped = errors.New("bus: stopped")

// Options configure a bus. Session and Store are required.
type Options struct {
	Session session.Info
	Store   *transcript.Store // whose mail it carries
	NATS    session.NATS      // carries the mail instead of the embedded server, if it has a URL
	Listen  Listen            // of the embedded server, besides its socket

	Wake    func(mailbox.AgentID) // receives agents that have mail; may be nil
	OnError func(error)           // receives errors of what is tried again; may be nil
	Sole    bool                  // no other process hosts agents of the session

	// Users returns the users with a key of their own; nil is none. It is called when the
	// server starts.
	Users func() ([]natsd.User, error)
	// Authorize returns the permissions of a process that connects through the socket; nil
	// is all.
	Authorize func(pid int) *natsd.User
	// Refused receives what the server has refused; nil discards it.
	OnRefusal func(natsd.Refusal)
	Logger    *slog.Logger // of the server; nil discards it
}

// Bus is the bus of one session in one process. Its methods may be called from any
// goroutine; Start or Join is called once, and then Serve at most once.
type Bus struct {
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	courier atomic.Pointer[mailbox.Courier]
	conn    *nats.Conn    // for mail; read after up is closed
	local   *nats.Conn    // to the embedded server; read after open is closed
	ready   chan struct{} // closed when mail can travel
	serving chan struct{} // closed when other processes get answers

	starting sync.Mutex // held by Start, Join and Serve: Stop waits for them
	stops    []func() error
	stopping sync.Once
	stopped  error

	sweepEvery, sweepGrace time.Duration

	mu             sync.Mutex
	server         *natsd.Server // guarded by mu; nil until it runs
	url, webSocket string        // guarded by mu
}

// New returns a bus that runs at most as long as ctx. It must be started by Start or Join.
func New(ctx context.Context, o Options) *Bus {
	if o.Wake == nil {
		o.Wake = func(mailbox.AgentID) {}
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	if o.Users == nil {
		o.Users = func() ([]natsd.User, error) { return nil, nil }
	}
	if o.OnRefusal == nil {
		o.OnRefusal = func(natsd.Refusal) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Bus{o: o, ready: make(chan struct{}), serving: make(chan struct{}), sweepEvery: sweepInterval, sweepGrace: sweepGrace}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	return b
}

// Start runs the embedded server and connects the mail. With Options.NATS mail goes through
// that server, and the embedded one only answers other processes of the user.
func (b *Bus) Start() (err error) {
	b.starting.Lock()
	defer b.starting.Unlock()
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	server, err := b.serve()
	if err != nil {
		return err
	}
	if b.local, err = server.Conn("node"); err != nil {
		return err
	}
	carrier, err := b.join(b.local)
	if err != nil {
		return err
	}
	b.work.Go(func() { carrier.sweep(b.ctx, b.sweepEvery, b.sweepGrace) })
	return b.startCourier(carrier)
}

// Join connects the mail over a connection to the owner's server, or with Options.NATS
// through that server.
func (b *Bus) Join(conn *nats.Conn) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	carrier, err := b.join(conn)
	if err != nil {
		return err
	}
	return b.startCourier(carrier)
}

// Handler answers requests over the bus, from when it returns until stop. External programs
// and other sessions send theirs over the connection of the mail, processes of the user
// over the session's own server: with Options.NATS these are two connections.
type Handler func(mail, local *nats.Conn) (stop func() error, err error)

// Serve opens the handlers, and then the socket for other processes. Stop closes the
// handlers in the same order.
func (b *Bus) Serve(handlers ...Handler) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	for _, open := range handlers {
		stop, err := open(b.conn, b.local)
		if err != nil {
			return err
		}
		b.stops = append(b.stops, stop)
	}
	if err := b.running().ServeUnix(b.o.Session.Socket(b.o.Session.StateDir())); err != nil {
		return err
	}
	close(b.serving)
	return nil
}

// Conn waits until the bus is up and returns the connection of the mail.
func (b *Bus) Conn(ctx context.Context) (*nats.Conn, error) {
	return b.conn, b.await(ctx, b.ready)
}

// LocalConn waits until other processes can reach the session, and returns the connection
// to its own server.
func (b *Bus) LocalConn(ctx context.Context) (*nats.Conn, error) {
	select {
	case <-b.serving: // also while the session ends
		return b.local, nil
	default:
	}
	return b.local, b.await(ctx, b.serving)
}

func (b *Bus) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Serving reports whether other processes can reach the session.
func (b *Bus) Serving() bool {
	select {
	case <-b.serving:
		return true
	default:
		return false
	}
}

// Courier returns the courier of the mail, nil before the mail is connected.
func (b *Bus) Courier() *mailbox.Courier { return b.courier.Load() }

// SendReceipt sends a receipt to another process. It returns false if the mail is not
// connected yet.
func (b *Bus) Receipt(r mailbox.Receipt) bool {
	c := b.courier.Load()
	if c != nil {
		c.SendReceipt(r)
	}
	return c != nil
}

// URLs returns the addresses of the bus for external programs, "" for none.
func (b *Bus) URLs() (tcp, webSocket string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.url, b.webSocket
}

// ChangeUsers changes the users with a key of their own: one change at a time, and none
// during the start of the server. change returns all users from then on.
func (b *Bus) ChangeUsers(change func() ([]natsd.User, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := change()
	if err == nil && b.server != nil {
		b.server.SetUsers(all)
	}
	return err
}

// Stop ends the bus. Mail that was not acknowledged stays in its outboxes.
func (b *Bus) Stop() error {
	b.stopping.Do(func() { b.stopped = b.stop() })
	return b.stopped
}

func (b *Bus) stop() error {
	b.cancel(ErrStopped)
	b.starting.Lock()
	defer b.starting.Unlock()
	b.work.Wait()
	var errs []error
	if c := b.courier.Load(); c != nil {
		errs = append(errs, c.Stop())
	}
	for _, stop := range b.stops {
		errs = append(errs, stop())
	}
	if b.o.NATS.URL != "" && b.conn != nil {
		b.conn.Close()
	}
	if server := b.running(); server != nil {
		errs = append(errs, server.Stop())
	}
	return errors.Join(errs...)
}

func (b *Bus) running() *natsd.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.server
}

// serve starts the embedded server.
func (b *Bus) serve() (*natsd.Server, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	users, err := b.o.Users()
	if err != nil {
		return nil, err
	}
	cert, err := b.o.Listen.Certificate()
	if err != nil {
		return nil, err
	}
	b.server, err = natsd.Start(b.ctx, natsd.Options{
		Certificate: cert, StoreDir: filepath.Join(b.o.Session.Path, "jetstream"),
		Listen: session.Listens(b.o.Listen.TCP), WebSocket: session.Listens(b.o.Listen.WebSocket),
		Users: users, Authorize: b.o.Authorize, OnRefusal: b.o.OnRefusal, Logger: b.o.Logger,
	})
	if err != nil {
		return nil, listenError(err)
	}
	b.url, b.webSocket = reachableURL(b.o.Session, "nats", b.server.ClientURL()), reachableURL(b.o.Session, "ws", b.server.WebSocketURL())
	if b.o.NATS.URL != "" {
		b.url = b.o.NATS.URL
	}
	return b.server, nil
}

// join opens the transport of the mail.
func (b *Bus) join(conn *nats.Conn) (_ *objectTransport, err error) {
	if b.o.NATS.URL != "" {
		if conn, err = b.connect(); err != nil {
			return nil, err
		}
	}
	b.conn = conn
	close(b.ready)
	box := natsbox.New(conn, natsbox.Options{Space: b.o.Session.ID, Sole: b.o.Sole, Replicas: b.o.NATS.Replicas})
	return newObjectTransport(b.ctx, box, conn, b.o)
}

// startCourier starts the courier.
func (b *Bus) startCourier(transport mailbox.Transport) error {
	courier := mailbox.NewCourier(transport, b.o.Store, mailbox.CourierOptions{Wake: b.o.Wake, OnError: b.o.OnError})
	if err := courier.Start(b.ctx, b.o.Store.Cursor(), b.o.Store.Pending()); err != nil {
		return err
	}
	b.courier.Store(courier)
	b.o.Store.Ship(courier.Send)
	return nil
}

// connect opens a connection to the external server.
func (b *Bus) connect() (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("swarm session " + b.o.Session.ID), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		// No other client needs permission to listen there.
		nats.CustomInboxPrefix("_INBOX." + string(mailbox.PeerID(b.o.Session.ID))),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.o.OnError(fmt.Errorf("the NATS server: %w", err))
		}),
	}
	creds, err := credentials(b.o.NATS)
	if err != nil {
		return nil, err
	}
	if creds != nil {
		options = append(options, creds)
	}
	conn, err := nats.Connect(b.o.NATS.URL, options...)
	if err != nil {
		return nil, serverError(b.o.NATS, err)
	}
	return conn, nil
}
