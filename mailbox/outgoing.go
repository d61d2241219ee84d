package mailbox

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outgoing is everything a node still owes, and the goroutine that sends it.
type outgoing struct {
	publish func(Envelope) error
	trouble func(error)
	window  int
	wait    time.Duration

	more chan struct{} // a flow became ready

	mu      sync.Mutex
	started bool
	early   []Envelope // sent before the start, whose older mail comes first
	flows   map[pair]*flow
	said    map[pair]uint64      // flow.said of the pairs that owe nothing now
	senders map[AgentID]struct{} // of this node
	ready   []*flow
}

// begin takes what the journal still holds, then what was sent meanwhile.
func (o *outgoing) begin(pending []Envelope) {
	o.take(pending)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = true
	for _, e := range o.early {
		o.push(e)
	}
	o.early = nil
}

// take takes outboxes as a journal holds them.
func (o *outgoing) take(pending []Envelope) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range pending {
		// What is before the first of an outbox is settled.
		p := pair{e.From.Agent, e.To.Agent}
		if _, seen := o.said[p]; !seen {
			o.said[p] = e.Seq - e.Skips - 1
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
		f.said = o.said[p]
		o.flows[p] = f
	}
	if f.push(e) {
		f.handed = min(max(f.handed, f.acked), e.Seq-1)
		o.offer(f)
	}
}

// offer queues a flow that has something to send.
func (o *outgoing) offer(f *flow) {
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
	_, is := o.senders[a]
	return is
}

func (o *outgoing) settle(r Receipt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := pair{r.To.Agent, r.From.Agent}
	f := o.flows[p]
	if f == nil {
		return
	}
	if lost := f.settle(r, time.Now(), o.window, o.wait); lost > 0 {
		o.trouble(fmt.Errorf("mailbox: %s acknowledged %d messages of %s that it does not have any more, its journal is another one; later messages go on", r.From.Agent, lost, r.To.Agent))
	}
	if len(f.pending) == 0 {
		delete(o.flows, p)
		o.said[p] = f.said
		return
	}
	o.offer(f)
}

// next takes one message of the flow that waits longest, so that a long lane
// does not hold up a short one.
func (o *outgoing) next() (Envelope, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.ready) > 0 {
		f := o.ready[0]
		o.ready[0] = nil
		o.ready = o.ready[1:]
		f.queued = false
		if f.ready() {
			e := f.take(time.Now(), o.wait)
			o.offer(f)
			return e, true
		}
	}
	return Envelope{}, false
}

// run sends until ctx ends. The timer runs only while something is unsettled.
func (o *outgoing) run(ctx context.Context) {
	period := max(o.wait/4, time.Millisecond)
	tick := time.NewTimer(period)
	defer tick.Stop()
	looked := time.Now()
	for ctx.Err() == nil {
		// Not only on the tick: a stream of new messages must not starve the old.
		if now := time.Now(); now.Sub(looked) >= period {
			looked = now
			o.overdue(now)
		}
		if e, ok := o.next(); ok {
			if err := o.publish(e); err != nil && ctx.Err() == nil {
				o.trouble(err)
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

func (o *outgoing) overdue(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.flows {
		if !f.due.IsZero() && !now.Before(f.due) {
			f.silent(now, o.wait)
			o.offer(f)
		}
	}
}
