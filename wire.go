package swarm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/actorswarm/swarm/session"
	"github.com/nats-io/nats.go"
)

// wire is the session's server and courier. It comes up beside the first model
// request: until then accepted messages wait in their outboxes.
type wire struct {
	s       *Session
	server  *natsd.Server
	courier atomic.Pointer[mailbox.Courier]
	api     *api
	bus     atomic.Pointer[busDoor]
	bridge  *bridge       // nil without a server of others
	conn    *nats.Conn    // for mail; once up is closed
	local   *nats.Conn    // to the session's own server; once open is closed
	up      chan struct{} // closed when the server answers
	open    chan struct{} // closed when other processes are answered
}

func newWire(s *Session) *wire {
	return &wire{s: s, up: make(chan struct{}), open: make(chan struct{})}
}

// connection waits for the server and returns the session's connection to it.
func (w *wire) connection(ctx context.Context) (*nats.Conn, error) {
	select {
	case <-w.up:
		return w.conn, nil
	case <-w.s.scope.Done():
		return nil, context.Cause(w.s.scope)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run brings the wire up. A wire that cannot come up ends the session: a swarm
// whose messages go nowhere must not look alive.
func (w *wire) run(ctx context.Context) {
	if err := w.start(ctx); err != nil && ctx.Err() == nil {
		w.s.end(fmt.Errorf("the message bus of session %s did not start: %w", w.s.Info().ID, err))
	}
}

func (w *wire) start(ctx context.Context) (err error) {
	if n := w.s.opts.node; n != nil {
		return w.join(ctx, n.conn)
	}
	if err := w.serve(ctx); err != nil {
		return err
	}
	if w.local, err = w.server.Conn("node"); err != nil {
		return err
	}
	if err := w.join(ctx, w.local); err != nil {
		return err
	}
	if err := w.openDoors(); err != nil {
		return err
	}
	if err := w.server.ServeUnix(w.s.Info().Socket(w.s.opts.StateDir)); err != nil {
		return err
	}
	close(w.open)
	return nil
}

// openDoors answers everybody outside this process. Programs outside and other
// sessions ask where mail travels, the user's processes at the session's own server.
func (w *wire) openDoors() (err error) {
	if w.api, err = openAPI(w.s, w.local); err != nil {
		return err
	}
	bus, err := openBusDoor(w.s, w.conn)
	if err != nil {
		return err
	}
	w.bus.Store(bus)
	if w.s.opts.NATS.URL != "" {
		if w.bridge, err = openBridge(w.s, w.conn); err != nil {
			return err
		}
	}
	if w.s.nodes != nil {
		return w.s.nodes.open(w.local)
	}
	return nil
}

// join lets the agents' mail travel over the connection to the owner's server, or
// with Options.NATS over one to that of others.
func (w *wire) join(ctx context.Context, conn *nats.Conn) (err error) {
	if w.s.opts.NATS.URL != "" {
		if conn, err = connectNATS(w.s.opts.NATS, w.s); err != nil {
			return err
		}
	}
	w.conn = conn
	close(w.up)
	box := natsbox.New(conn, natsbox.Options{Space: w.s.Info().ID, Sole: w.s.nodes == nil && w.s.opts.node == nil, Replicas: w.s.opts.NATS.Replicas})
	trouble := func(err error) {
		w.s.bus.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: err.Error()})
	}
	carried, err := w.carryObjects(conn, box, trouble)
	if err != nil {
		return err
	}
	if w.s.opts.node == nil {
		w.s.watch.Go(func() { carried.sweep(w.s.scope) })
	}
	courier := mailbox.NewCourier(carried, w.s.store, mailbox.CourierOptions{
		Wake: func(id mailbox.AgentID) {
			w.s.agents.Look(id)
			w.s.outsiders.Look(id)
		},
		OnTrouble: trouble,
	})
	if err := courier.Start(ctx, w.s.store.Cursor(), w.s.store.Pending()); err != nil {
		return err
	}
	w.courier.Store(courier)
	w.s.store.Ship(courier.Send)
	return nil
}

// isServed returns when other processes can reach the session.
func (w *wire) isServed(ctx context.Context) error {
	select {
	case <-w.open:
		return nil
	case <-w.s.scope.Done():
		return context.Cause(w.s.scope)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// serve starts the session's own server. With Options.NATS mail goes elsewhere,
// and this one is only what other processes of the user reach the session by.
func (w *wire) serve(ctx context.Context) (err error) {
	s := w.s
	s.busMu.Lock()
	defer s.busMu.Unlock()
	users, err := BusUsers(s.Info())
	if err != nil {
		return err
	}
	cert, err := s.opts.certificate()
	if err != nil {
		return err
	}
	w.server, err = natsd.Start(ctx, natsd.Options{
		Certificate: cert,
		StoreDir:    filepath.Join(s.Info().Path, "jetstream"), Listen: session.Listens(s.opts.Listen), WebSocket: session.Listens(s.opts.ListenWebSocket), Logger: s.opts.Logger,
		Users: serverUsers(s.Info().ID, users), Visitor: s.visitor, Refused: func(r natsd.Refusal) {
			s.audit.Note(event.Audit{By: r.User, From: r.From, Reason: r.What})
		},
	})
	if err != nil {
		return s.opts.cannotListen(err)
	}
	info := s.Info()
	s.busServer, s.busURL, s.busWebSocket = w.server, reached(info, "nats", w.server.ClientURL()), reached(info, "ws", w.server.WebSocketURL())
	if s.opts.NATS.URL != "" {
		s.busURL = s.opts.NATS.URL
	}
	return nil
}

// stop is called once run has returned or its context has ended.
func (w *wire) stop() error {
	w.s.watch.Wait()
	var errs []error
	if c := w.courier.Load(); c != nil {
		errs = append(errs, c.Stop())
	}
	if w.api != nil {
		errs = append(errs, w.api.close())
	}
	if o := w.bus.Load(); o != nil {
		errs = append(errs, o.close())
	}
	if w.bridge != nil {
		errs = append(errs, w.bridge.Close())
	}
	if w.s.opts.NATS.URL != "" && w.conn != nil {
		w.conn.Close()
	}
	if w.server != nil {
		errs = append(errs, w.server.Stop())
	}
	return errors.Join(errs...)
}
