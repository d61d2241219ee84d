package mailbox

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outgoing holds the unacknowledged messages of a node and sends them.
type outgoing struct {
	publish     func(Envelope) error
	onError     func(error)
	window      int
	resendAfter time.Duration

	more chan struct{} // a flow became ready

	mu      sync.Mutex
	started bool
	early   []Envelope // sent before start; the older mail of the journal goes first
	flows   map[pair]*flow
	marks   map[pair]uint64      // flow.mark of the pairs without unacknowledged messages
	senders map[AgentID]struct{} // of this node
	ready   []*flow
}

// start adds the outboxes of the journal, then what was sent before the start.
func (o *outgoing) start(pending []Envelope) {
	o.adopt(pending)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = true
	for _, e := range o.early {
		o.push(e)
	}
	o.early = nil
}

// adopt adds outboxes as a journal holds them.
func (o *outgoing) adopt(pending []Envelope) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range pending {
		// Everything before the first message of an outbox is acknowledged.
		p := pair{e.From.Agent, e.To.Agent}
		if _, seen := o.marks[p]; !seen {
			o.marks[p] = e.Seq - e.Skips - 1
		}
	}
	for _, e := range pending {
		o.push(e)
	}
}

func (o *outgoing) send(e Envelope) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started {
		o.early = append(o.early, e)
		return
	}
	o.push(e)
}

func (o *outgoing) push(e Envelope) {
	o.senders[e.From.Agent] = struct{}{}
	p := pair{e.From.Agent, e.To.Agent}
	f := o.flows[p]
	if f == nil {
		f = &flow{window: o.window}
		f.mark = o.marks[p]
		o.flows[p] = f
	}
	if f.push(e) {
		f.published = min(max(f.published, f.acked), e.Seq-1)
		o.enqueue(f)
	}
}

// enqueue queues a flow that has something to send.
func (o *outgoing) enqueue(f *flow) {
	if !f.queued && f.ready() {
		f.queued = true
		o.ready = append(o.ready, f)
		signal(o.more)
	}
}

// local reports whether an agent sends through this courier.
func (o *outgoing) local(a AgentID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.senders[a]
	return ok
}

func (o *outgoing) acknowledge(r Receipt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := pair{r.To.Agent, r.From.Agent}
	f := o.flows[p]
	if f == nil {
		return
	}
	if lost := f.acknowledge(r, time.Now(), o.window, o.resendAfter); lost > 0 {
		o.onError(fmt.Errorf("mailbox: %s acknowledged %d messages of %s and lost them with its journal; later messages are delivered", r.From.Agent, lost, r.To.Agent))
	}
	if len(f.pending) == 0 {
		delete(o.flows, p)
		o.marks[p] = f.mark
		return
	}
	o.enqueue(f)
}

// next returns one message of the flow that has waited longest, so that a long lane
// does not delay a short one.
func (o *outgoing) next() (Envelope, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.ready) > 0 {
		f := o.ready[0]
		o.ready[0] = nil
		o.ready = o.ready[1:]
		f.queued = false
		if f.ready() {
			e := f.next(time.Now(), o.resendAfter)
			o.enqueue(f)
			return e, true
		}
	}
	return Envelope{}, false
}

// run sends until ctx ends. The timer runs only while messages are unacknowledged.
func (o *outgoing) run(ctx context.Context) {
	period := max(o.resendAfter/4, time.Millisecond)
	tick := time.NewTimer(period)
	defer tick.Stop()
	lastCheck := time.Now()
	for ctx.Err() == nil {
		// Not only on the tick: new messages must not starve overdue ones.
		if now := time.Now(); now.Sub(lastCheck) >= period {
			lastCheck = now
			o.checkTimeouts(now)
		}
		if e, ok := o.next(); ok {
			if err := o.publish(e); err != nil && ctx.Err() == nil {
				o.onError(err)
			}
			continue
		}
		tick.Stop()
		if o.busy() {
			tick.Reset(period)
		}
		select {
		case <-ctx.Done():
		case <-o.more:
		case <-tick.C:
		}
	}
}

func (o *outgoing) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.flows) > 0
}

func (o *outgoing) checkTimeouts(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.flows {
		if !f.due.IsZero() && !now.Before(f.due) {
			f.timeout(now, o.resendAfter)
			o.enqueue(f)
		}
	}
}
