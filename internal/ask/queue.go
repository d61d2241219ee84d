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

// Request is a question with functions for its answer.
type Request struct {
	Question event.Question
	// Record writes an answer or an expiry to disk. Answer returns its error to the
	// person.
	Record func(event.Resolution) error
	// Grant adds the question's rules to the session, or to the settings file that scope
	// names; nil if it has none.
	Grant func(rules []string, scope string) error
	// Covered, if not nil, reports whether a rule has made the question unnecessary.
	Covered func() bool
}

// Queue holds the open questions. Its methods may be called from any goroutine. The zero
// value is ready to use.
type Queue struct {
	mu       sync.Mutex
	open     map[string]*Ticket             // guarded by mu
	resolved map[string]event.QuestionState // guarded by mu
}

// Ticket represents an open question for its asker.
type Ticket struct {
	queue *Queue
	req   Request

	claim      chan struct{}    // holds one value while the question is being resolved, and for ever after that
	done       chan struct{}    // closed when the question is resolved
	withdrawn  bool             // the asker no longer waits; guarded by queue.mu
	resolution event.Resolution // written before done is closed
}

// Open adds a question to the queue, where it can be answered at once. The asker must call
// Wait. If an open question has the same id, the new one gets another.
func (q *Queue) Open(r Request) *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open, q.resolved = map[string]*Ticket{}, map[string]event.QuestionState{}
	}
	id := r.Question.ID
	for n := 2; q.open[r.Question.ID] != nil; n++ {
		r.Question.ID = id + "-" + strconv.Itoa(n)
	}
	t := &Ticket{queue: q, req: r, claim: make(chan struct{}, 1), done: make(chan struct{})}
	q.open[r.Question.ID] = t
	delete(q.resolved, r.Question.ID) // asked again after it was withdrawn
	return t
}

// Question returns the question with its id in the queue.
func (t *Ticket) Question() event.Question { return t.req.Question }

// Wait returns how the question was resolved. When ctx ends Wait withdraws it and returns
// the cause; at its Expires the question expires. Wait returns any other error from
// recording the expiry.
func (t *Ticket) Wait(ctx context.Context) (event.Resolution, error) {
	expiry, stop := t.expiry()
	defer stop()
	select {
	case <-t.done:
		return t.resolution, nil
	case <-ctx.Done():
		return t.withdraw(ctx)
	case <-expiry:
	}
	select {
	case t.claim <- struct{}{}:
		return t.expire()
	case <-t.done:
		return t.resolution, nil
	case <-ctx.Done():
		return t.withdraw(ctx)
	}
}

func (t *Ticket) expiry() (<-chan time.Time, func() bool) {
	if t.req.Question.Expires.IsZero() {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(t.req.Question.Expires))
	return timer.C, timer.Stop
}

// expire resolves the claimed question without an answer.
func (t *Ticket) expire() (event.Resolution, error) {
	s := event.Resolution{State: event.QuestionExpired}
	if err := t.req.Record(s); err != nil {
		t.resolve(event.Resolution{State: event.QuestionWithdrawn})
		return t.resolution, err
	}
	t.resolve(s)
	return s, nil
}

// withdraw withdraws the question, unless an answer is being recorded.
func (t *Ticket) withdraw(ctx context.Context) (event.Resolution, error) {
	t.queue.mu.Lock()
	t.withdrawn = true
	select {
	case t.claim <- struct{}{}:
		t.resolveLocked(event.Resolution{State: event.QuestionWithdrawn})
	default:
	}
	t.queue.mu.Unlock()
	return event.Resolution{State: event.QuestionWithdrawn}, context.Cause(ctx)
}

// resolve resolves the question, which the caller has claimed.
func (t *Ticket) resolve(s event.Resolution) {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.resolveLocked(s)
}

func (t *Ticket) resolveLocked(s event.Resolution) {
	t.resolution = s
	delete(t.queue.open, t.req.Question.ID)
	t.queue.resolved[t.req.Question.ID] = s.State
	close(t.done)
}

// release gives up a claim without a result.
func (t *Ticket) release() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.withdrawn {
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

// Answer answers a question for a person and returns when the answer is on disk. It returns
// *event.UnknownQuestionError, *event.ResolvedQuestionError, an error of an invalid
// answer, or the error of recording it.
func (q *Queue) Answer(id, by string, a event.Answer) error {
	t, err := q.claim(id, a)
	if err != nil {
		return err
	}
	if err := t.record(a, by); err != nil {
		t.release()
		return err
	}
	t.resolve(event.Resolution{State: event.QuestionAnswered, Answer: a, By: by})
	if a.Always {
		q.resolveCovered()
	}
	return nil
}

// claim checks an answer and claims its question.
func (q *Queue) claim(id string, a event.Answer) (*Ticket, error) {
	q.mu.Lock()
	t, state := q.open[id], q.resolved[id]
	q.mu.Unlock()
	switch {
	case t == nil && state != "":
		return nil, &event.ResolvedQuestionError{ID: id, State: state}
	case t == nil:
		return nil, &event.UnknownQuestionError{ID: id, Open: q.ids()}
	}
	if err := Check(t.req.Question, a); err != nil {
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

// record grants rules before it records, so that a recorded answer is complete.
func (t *Ticket) record(a event.Answer, by string) error {
	if a.Always {
		if err := t.req.Grant(t.req.Question.Rules, a.Scope); err != nil {
			return err
		}
	}
	return t.req.Record(event.Resolution{State: event.QuestionAnswered, Answer: a, By: by})
}

// resolveCovered resolves the questions that new rules cover.
func (q *Queue) resolveCovered() {
	for _, t := range q.tickets() {
		if t.req.Covered == nil || !t.req.Covered() {
			continue
		}
		select {
		case t.claim <- struct{}{}:
			t.resolve(event.Resolution{State: event.QuestionCovered})
		default: // another goroutine is resolving it
		}
	}
}
