package natsbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
)

// The stream replies to one message in replyEvery, and at most maxMissing replies may be
// outstanding, so that unstored messages do not overrun the server's queue.
const (
	replyEvery   = 32
	maxMissing   = 16
	replyTimeout = 2 * time.Second // after which outstanding replies count as lost
)

// errNoReply reports a stream that accepts messages and does not reply.
var errNoReply = errors.New("natsbox: the stream has not answered for two seconds; if it does not recover, check the server's disk, and delete the stream: it holds nothing that is not in a journal")

// throttle delays publishing while the server is behind. The replies are used for
// back-pressure only: no state of a message depends on one.
type throttle struct {
	reply string

	mu          sync.Mutex
	missing     int       // outstanding replies
	unconfirmed int       // messages since the last that requested a reply
	lastReply   time.Time // when the first outstanding reply was requested, or the last one arrived
	closed      bool
	room        chan struct{} // one pending signal
}

func newThrottle(reply string) *throttle {
	return &throttle{reply: reply, room: make(chan struct{}, 1)}
}

// acquire waits for room and returns the reply subject of the next message, or "" if it
// needs no reply. With errNoReply the message may be published; the caller reports it.
func (g *throttle) acquire() (reply string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.missing >= maxMissing && !g.closed && time.Since(g.lastReply) < replyTimeout {
		g.wait()
	}
	if g.closed {
		return "", mailbox.ErrStopped
	}
	now := time.Now()
	if g.missing > 0 && now.Sub(g.lastReply) >= replyTimeout {
		g.missing, err = 0, errNoReply
	}
	g.unconfirmed++
	if g.missing > 0 && g.unconfirmed < replyEvery {
		return "", err
	}
	if g.missing == 0 {
		g.lastReply = now
	}
	g.unconfirmed = 0
	g.missing++
	return g.reply, err
}

// wait is called with mu held and releases it while it waits.
func (g *throttle) wait() {
	limit := time.NewTimer(replyTimeout - time.Since(g.lastReply))
	defer limit.Stop()
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-g.room:
	case <-limit.C:
	}
}

// handleReply handles a reply and returns the error in it.
func (g *throttle) handleReply(m *nats.Msg) error {
	g.mu.Lock()
	g.missing = max(0, g.missing-1)
	g.lastReply = time.Now()
	g.mu.Unlock()
	g.signal()
	data := m.Data
	switch {
	case len(data) == 0:
		return nats.ErrNoResponders
	case !bytes.Contains(data, []byte(`"error"`)):
		return nil
	}
	var answer struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.Error == nil {
		return fmt.Errorf("unreadable reply %.200q", data)
	}
	return fmt.Errorf("%s (%d)", answer.Error.Description, answer.Error.Code)
}

// reset forgets replies that were lost with a connection.
func (g *throttle) reset() {
	g.mu.Lock()
	g.missing = 0
	g.mu.Unlock()
	g.signal()
}

func (g *throttle) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
}

func (g *throttle) signal() {
	select {
	case g.room <- struct{}{}:
	default:
	}
}
