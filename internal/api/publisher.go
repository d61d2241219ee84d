package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/nats-io/nats.go"
)

// endWithin is how long the end of a session waits for those who follow it.
const endWithin = 250 * time.Millisecond

// publisher publishes the events of a session, once a client has asked for them.
type publisher struct {
	ctx     context.Context
	conn    *nats.Conn
	subject string
	events  *event.Bus
	log     *slog.Logger

	work    sync.WaitGroup
	begun   sync.Once
	readers atomic.Int32 // who has asked and has not left
}

// tail publishes the session's facts for one more reader.
func (p *publisher) tail() {
	p.readers.Add(1)
	p.begun.Do(func() {
		sub := p.events.Subscribe()
		p.work.Go(func() { p.run(sub) })
	})
}

func (p *publisher) untail() { p.readers.Add(-1) }

// run publishes every fact until the session ends, and then that it has ended.
func (p *publisher) run(sub *event.Subscription) {
	defer sub.Close()
	// The end of the scope may overtake what was published before it: what is left is
	// read in a second round.
	for range 2 {
		for {
			e, err := sub.Next(p.ctx)
			if err != nil {
				break
			}
			p.publish(e)
		}
	}
	if err := p.publishEnd(); err != nil {
		p.log.Warn("not everybody who follows the session heard its end", "error", err)
	}
}

func (p *publisher) publish(e event.Event) {
	raw, err := json.Marshal(e)
	if err == nil {
		err = p.conn.Publish(p.subject, raw)
	}
	if err != nil {
		p.log.Warn("an event could not be published", "type", event.Type(e.Fact), "error", err)
	}
}

// publishEnd announces the end of the feed to its clients, and waits
// until they have read all of it: the server closes after that.
func (p *publisher) publishEnd() error {
	inbox := p.conn.NewRespInbox()
	acks, err := p.conn.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	if err := p.conn.PublishRequest(p.subject, inbox, nil); err != nil {
		return err
	}
	limit := time.Now().Add(endWithin)
	for range p.readers.Load() {
		if _, err := acks.NextMsg(time.Until(limit)); err != nil {
			return err
		}
	}
	return nil
}
