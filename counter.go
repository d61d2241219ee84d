package swarm

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
)

// counter answers requests that come on a subject, each in a goroutine of its own:
// an answer may wait for the disk, and the connection serves the agents too.
type counter struct {
	log    *slog.Logger
	places chan struct{} // of requests at once; nil is no limit
	whole  bool          // who asks is not of the session and takes no answer in parts
	conn   *nats.Conn
	sub    *nats.Subscription
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool // guarded by mu; no request is taken any more
}

var errBusy = errors.New("the session is busy with other requests; try again")

// newBusyCounter returns one for those who are not of the session.
func newBusyCounter(s *Session) counter {
	return counter{log: s.opts.Logger, places: make(chan struct{}, busAtOnce), whole: true}
}

// open takes requests. Each is to be given to serve.
func (c *counter) open(conn *nats.Conn, subject string, handle nats.MsgHandler) (err error) {
	c.conn = conn
	c.sub, err = conn.Subscribe(subject, handle)
	return err
}

// serve answers a request, with busy if too many are being answered. After close it
// does nothing: who asked hears that nobody answers.
func (c *counter) serve(m *nats.Msg, busy any, answer func() any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.places == nil {
		c.work.Go(func() { c.respond(m, answer()) })
		return
	}
	select {
	case c.places <- struct{}{}:
	default:
		c.respond(m, busy)
		return
	}
	c.work.Go(func() {
		defer func() { <-c.places }()
		c.respond(m, answer())
	})
}

func (c *counter) respond(m *nats.Msg, r any) {
	if m.Reply == "" {
		return
	}
	raw, err := json.Marshal(r)
	if most := int(c.conn.MaxPayload()); c.whole && len(raw) > most {
		// Nobody is to wait for what does not come.
		raw = fmt.Appendf(nil, `{"error":"the answer has %d bytes and a message of this server holds %d; ask for less"}`, len(raw), most)
	}
	if err == nil {
		err = respondInParts(c.conn, m, raw)
	}
	if err != nil {
		c.log.Warn("a request could not be answered", "subject", m.Subject, "error", err)
	}
}

// close waits for what is being answered, and for all that was begun with work. It
// is called once the session's scope has ended.
func (c *counter) close() error {
	err := c.sub.Unsubscribe()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.work.Wait()
	if errors.Is(err, nats.ErrConnectionClosed) {
		return nil
	}
	return err
}
