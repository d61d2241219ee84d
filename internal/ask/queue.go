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

// Request is a question, and what is to happen with its answer.
type Request struct {
	Question event.Question
	// Record puts an answer or an expiry on disk. Its error is what the person
	// who answers gets.
	Record func(event.Resolution) error
	// Grant adds the question's rules to the session; nil if it has none.
	Grant func(rules []string) error
	// Covered reports whether the question need not be asked any more; may be nil.
	Covered func() bool
}

// Queue holds the open questions. Its methods may be called from any goroutine.
// The zero value is ready.
type Queue struct {
	mu      sync.Mutex
	open    map[string]*Ticket             // guarded by mu
	settled map[string]event.QuestionState // guarded by mu
}

// Ticket is the asker's hold on a question.
type Ticket struct {
	queue *Queue
	req   Request

	claim chan struct{}    // holds one while somebody resolves the question, and for ever after that
	done  chan struct{}    // closed once it is resolved
	left  bool             // the asker waits no longer; guarded by queue.mu
	how   event.Resolution // written before done is closed
}

// Open adds a question to the queue, where it can be answered at once. The asker
// must Wait. Of two that are alike in one answer of a model the second gets an
// id of its own.
func (q *Queue) Open(r Request) *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open, q.settled = map[string]*Ticket{}, map[string]event.QuestionState{}
	}
	id := r.Question.ID
	for n := 2; q.open[r.Question.ID] != nil; n++ {
		r.Question.ID = id + "-" + strconv.Itoa(n)
	}
	t := &Ticket{queue: q, req: r, claim: make(chan struct{}, 1), done: make(chan struct{})}
	q.open[r.Question.ID] = t
	delete(q.settled, r.Question.ID) // asked again after it was withdrawn
	return t
}

// Question returns what is asked, with the id under which it is in the queue.
func (t *Ticket) Question() event.Question { return t.req.Question }

// Wait returns how the question was settled. When ctx ends it is withdrawn and
// the error is the cause; at its Expires it expires. Another error is that of
// recording the expiry.
func (t *Ticket) Wait(ctx context.Context) (event.Resolution, error) {
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
func (t *Ticket) expire() (event.Resolution, error) {
	s := event.Resolution{State: event.QuestionExpired}
	if err := t.req.Record(s); err != nil {
		t.resolve(event.Resolution{State: event.QuestionWithdrawn})
		return t.how, err
	}
	t.resolve(s)
	return s, nil
}

// leave withdraws the question, unless an answer is just being recorded.
func (t *Ticket) leave(ctx context.Context) (event.Resolution, error) {
	t.queue.mu.Lock()
	t.left = true
	select {
	case t.claim <- struct{}{}:
		t.resolveLocked(event.Resolution{State: event.QuestionWithdrawn})
	default:
	}
	t.queue.mu.Unlock()
	return event.Resolution{State: event.QuestionWithdrawn}, context.Cause(ctx)
}

// resolve ends the question, which the caller has claimed.
func (t *Ticket) resolve(s event.Resolution) {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.resolveLocked(s)
}

func (t *Ticket) resolveLocked(s event.Resolution) {
	t.how = s
	delete(t.queue.open, t.req.Question.ID)
	t.queue.settled[t.req.Question.ID] = s.State
	close(t.done)
}

// release gives a claim back that came to nothing.
func (t *Ticket) release() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.left {
		t.resolveLocked(event.Resolution{State: event.QuestionWithdrawn})
		return
	}
	<-t.claim
}

// List returns the open questions, the oldest first.
func (q *Queue) List() []event.Question {
	var all []event.Question
	for _, t := range q.tickets() {
		all = append(all, t.req.Question)
	}
	slices.SortFunc(all, func(a, b event.Question) int {
		return cmp.Or(a.Asked.Compare(b.Asked), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (q *Queue) tickets() []*Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]*Ticket, 0, len(q.open))
	for _, t := range q.open {
		all = append(all, t)
	}
	return all
}

// Answer answers a question by the word of a person. It returns when the answer
// is on disk. Its errors are *UnknownError, *ResolvedError, *NotPermittedError,
// or what kept the answer from being recorded.
func (q *Queue) Answer(id, by string, a event.Answer) error {
	t, err := q.take(id, a)
	if err != nil {
		return err
	}
	if err := t.record(a, by); err != nil {
		t.release()
		return err
	}
	t.resolve(event.Resolution{State: event.QuestionAnswered, Answer: a, By: by})
	if a.Always {
		q.cover()
	}
	return nil
}

// take finds the question of an answer and claims it.
func (q *Queue) take(id string, a event.Answer) (*Ticket, error) {
	q.mu.Lock()
	t, state := q.open[id], q.settled[id]
	q.mu.Unlock()
	switch {
	case t == nil && state != "":
		return nil, &event.ResolvedQuestionError{ID: id, State: state}
	case t == nil:
		return nil, &event.UnknownQuestionError{ID: id, Open: q.ids()}
	}
	if err := check(t.req.Question, a); err != nil {
		return nil, err
	}
	select {
	case t.claim <- struct{}{}:
		return t, nil
	default:
		return nil, &event.ResolvedQuestionError{ID: id, State: event.QuestionAnswered}
	}
}

func (q *Queue) ids() []string {
	var ids []string
	for _, q := range q.List() {
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
	return t.req.Record(event.Resolution{State: event.QuestionAnswered, Answer: a, By: by})
}

// cover settles what new rules allow.
func (q *Queue) cover() {
	for _, t := range q.tickets() {
		if t.req.Covered == nil || !t.req.Covered() {
			continue
		}
		select {
		case t.claim <- struct{}{}:
			t.resolve(event.Resolution{State: event.QuestionCovered})
		default: // somebody settles it just now
		}
	}
}
