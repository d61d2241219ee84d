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

// The stream answers one message in askEvery, and at most maxAsked answers may
// be missing: that many unstored messages do not overrun the server's queue.
const (
	askEvery = 32
	maxAsked = 16
	askLimit = 2 * time.Second // then the answers are taken for lost
)

// errUnanswered reports a stream that takes messages and says nothing.
var errUnanswered = errors.New("natsbox: the stream has not answered for two seconds; if that stays, look at the server's disk, and delete the stream: it holds nothing that is not in a journal")

// gate holds up publishing while the server is behind. Its answers are
// back-pressure and nothing else: no state of a message depends on one.
type gate struct {
	reply string

	mu     sync.Mutex
	asked  int       // answers missing
	since  int       // messages since the last that asked
	heard  time.Time // when the first missing answer was asked for, or the last came
	closed bool
	room   chan struct{} // one pending signal
}

func newGate(reply string) *gate { return &gate{reply: reply, room: make(chan struct{}, 1)} }

// pass waits for room and returns the reply subject of this message, empty when
// it is not to be answered. With errUnanswered the message may go out: the caller
// reports it.
func (g *gate) pass() (reply string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.asked >= maxAsked && !g.closed && time.Since(g.heard) < askLimit {
		g.wait()
	}
	if g.closed {
		return "", mailbox.ErrStopped
	}
	now := time.Now()
	if g.asked > 0 && now.Sub(g.heard) >= askLimit {
		g.asked, err = 0, errUnanswered
	}
	g.since++
	if g.asked > 0 && g.since < askEvery {
		return "", err
	}
	if g.asked == 0 {
		g.heard = now
	}
	g.since = 0
	g.asked++
	return g.reply, err
}

// wait is called with mu held and gives it up meanwhile.
func (g *gate) wait() {
	limit := time.NewTimer(askLimit - time.Since(g.heard))
	defer limit.Stop()
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-g.room:
	case <-limit.C:
	}
}

// answered takes an answer and returns the error in it.
func (g *gate) answered(m *nats.Msg) error {
	g.mu.Lock()
	g.asked = max(0, g.asked-1)
	g.heard = time.Now()
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
		return fmt.Errorf("unreadable answer %.200q", data)
	}
	return fmt.Errorf("%s (%d)", answer.Error.Description, answer.Error.Code)
}

// reset forgets answers that a lost connection took along.
func (g *gate) reset() {
	g.mu.Lock()
	g.asked = 0
	g.mu.Unlock()
	g.signal()
}

func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
}

func (g *gate) signal() {
	select {
	case g.room <- struct{}{}:
	default:
	}
}
