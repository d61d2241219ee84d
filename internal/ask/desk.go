package ask

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/actorswarm/swarm/event"
)

// Request is what an asker puts on the desk.
type Request struct {
	Question event.Question
	// Record puts an answer or an expiry on disk. Its error is what the person
	// who answers gets.
	Record func(event.Settlement) error
	// Grant adds the question's rules to the session; nil if it has none.
	Grant func(rules []string) error
	// Covered reports whether the question need not be asked any more; may be nil.
	Covered func() bool
}

// Desk holds the open questions. Its methods may be called from any goroutine.
// The zero value is ready.
type Desk struct {
	mu      sync.Mutex
	open    map[string]*Ticket             // guarded by mu
	settled map[string]event.QuestionState // guarded by mu
}

// Ticket is the asker's hold on a question.
type Ticket struct {
	desk *Desk
	req  Request

	claim chan struct{}    // holds one while somebody settles the question, and for ever after that
	done  chan struct{}    // closed once it is settled
	left  bool             // the asker waits no longer; guarded by desk.mu
	how   event.Settlement // written before done is closed
}

// Open puts a question on the desk, where it can be answered at once. The asker
// must Wait. Of two that are alike in one answer of a model the second gets an
// id of its own.
func (d *Desk) Open(r Request) *Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open, d.settled = map[string]*Ticket{}, map[string]event.QuestionState{}
	}
	id := r.Question.ID
	for n := 2; d.open[r.Question.ID] != nil; n++ {
		r.Question.ID = id + "-" + strconv.Itoa(n)
	}
	t := &Ticket{desk: d, req: r, claim: make(chan struct{}, 1), done: make(chan struct{})}
	d.open[r.Question.ID] = t
	delete(d.settled, r.Question.ID) // asked again after it was withdrawn
	return t
}

// Question returns what is asked, with the id under which it lies on the desk.
func (t *Ticket) Question() event.Question { return t.req.Question }

// Wait returns how the question was settled. When ctx ends it is withdrawn and
// the error is the cause; at its Expires it expires. Another error is that of
// recording the expiry.
func (t *Ticket) Wait(ctx context.Context) (event.Settlement, error) {
	expiry, stop := t.expiry()
	defer stop()
	select {
	case <-t.done:
		return t.how, nil
	case <-ctx.Done():
		return t.leave(ctx)
	case <-expiry:
	}
	select {
	case t.claim <- struct{}{}:
		return t.expire()
	case <-t.done:
		return t.how, nil
	case <-ctx.Done():
		return t.leave(ctx)
	}
}

func (t *Ticket) expiry() (<-chan time.Time, func() bool) {
	if t.req.Question.Expires.IsZero() {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(t.req.Question.Expires))
	return timer.C, timer.Stop
}

// expire settles the claimed question without an answer.
func (t *Ticket) expire() (event.Settlement, error) {
	s := event.Settlement{State: event.QuestionExpired}
	if err := t.req.Record(s); err != nil {
		t.settle(event.Settlement{State: event.QuestionWithdrawn})
		return t.how, err
	}
	t.settle(s)
	return s, nil
}

// leave withdraws the question, unless an answer is just being recorded.
func (t *Ticket) leave(ctx context.Context) (event.Settlement, error) {
	t.desk.mu.Lock()
	t.left = true
	select {
	case t.claim <- struct{}{}:
		t.settleLocked(event.Settlement{State: event.QuestionWithdrawn})
	default:
	}
	t.desk.mu.Unlock()
	return event.Settlement{State: event.QuestionWithdrawn}, context.Cause(ctx)
}

// settle ends the question, which the caller has claimed.
func (t *Ticket) settle(s event.Settlement) {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	t.settleLocked(s)
}

func (t *Ticket) settleLocked(s event.Settlement) {
	t.how = s
	delete(t.desk.open, t.req.Question.ID)
	t.desk.settled[t.req.Question.ID] = s.State
	close(t.done)
}

// release gives a claim back that came to nothing.
func (t *Ticket) release() {
	t.desk.mu.Lock()
	defer t.desk.mu.Unlock()
	if t.left {
		t.settleLocked(event.Settlement{State: event.QuestionWithdrawn})
		return
	}
	<-t.claim
}

// List returns the open questions, the oldest first.
func (d *Desk) List() []event.Question {
	var all []event.Question
	for _, t := range d.tickets() {
		all = append(all, t.req.Question)
	}
	slices.SortFunc(all, func(a, b event.Question) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (d *Desk) tickets() []*Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*Ticket, 0, len(d.open))
	for _, t := range d.open {
		all = append(all, t)
	}
	return all
}

// Answer settles a question by the word of a person. It returns when the answer
// is on disk. Its errors are *UnknownError, *SettledError, *NotPermittedError,
// or what kept the answer from being recorded.
func (d *Desk) Answer(id, by string, a event.Answer) error {
	t, err := d.take(id, a)
	if err != nil {
		return err
	}
	if err := t.record(a, by); err != nil {
		t.release()
		return err
	}
	t.settle(event.Settlement{State: event.QuestionAnswered, Answer: a, By: by})
	if a.Always {
		d.cover()
	}
	return nil
}

// take finds the question of an answer and claims it.
func (d *Desk) take(id string, a event.Answer) (*Ticket, error) {
	d.mu.Lock()
	t, state := d.open[id], d.settled[id]
	d.mu.Unlock()
	switch {
	case t == nil && state != "":
		return nil, &event.SettledQuestionError{ID: id, State: state}
	case t == nil:
		return nil, &event.UnknownQuestionError{ID: id, Open: d.ids()}
	}
	if err := check(t.req.Question, a); err != nil {
		return nil, err
	}
	select {
	case t.claim <- struct{}{}:
		return t, nil
	default:
		return nil, &event.SettledQuestionError{ID: id, State: event.QuestionAnswered}
	}
}

func (d *Desk) ids() []string {
	var ids []string
	for _, q := range d.List() {
		ids = append(ids, q.ID)
	}
	return ids
}

// record grants before it records: an answer that is on disk holds whole.
func (t *Ticket) record(a event.Answer, by string) error {
	if a.Always {
		if err := t.req.Grant(t.req.Question.Rules); err != nil {
			return err
		}
	}
	return t.req.Record(event.Settlement{State: event.QuestionAnswered, Answer: a, By: by})
}

// cover settles what new rules allow.
func (d *Desk) cover() {
	for _, t := range d.tickets() {
		if t.req.Covered == nil || !t.req.Covered() {
			continue
		}
		select {
		case t.claim <- struct{}{}:
			t.settle(event.Settlement{State: event.QuestionCovered})
		default: // somebody settles it just now
		}
	}
}
