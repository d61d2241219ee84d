package ask_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"pgregory.net/rapid"
)

func request(id string) ask.Request {
	return ask.Request{
		Question: event.Question{ID: id, Kind: event.AsksPermission, Rules: []string{"Bash(" + id + ")"}},
		Record:   func(event.Resolution) error { return nil },
		Grant:    func([]string, string) error { return nil },
	}
}

// machine compares the queue with a model of it: the state of each question.
type machine struct {
	queue   ask.Queue
	open    map[string]*asker
	settled map[string]event.QuestionState
	allowed map[string]bool // rules that were granted
	next    int
}

type asker struct {
	leave  context.CancelCauseFunc
	ends   chan event.Resolution
	expiry time.Time
	broken bool // recording fails
	rule   string
}

var errWithdrawn = errors.New("left")

func (m *machine) ask(t *rapid.T) {
	m.next++
	id := fmt.Sprint("q", m.next)
	r := request(id)
	a := &asker{ends: make(chan event.Resolution, 1), broken: rapid.Bool().Draw(t, "broken"), rule: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "rule")}
	r.Question.Rules = []string{a.rule}
	r.Covered = func() bool { return m.allowed[a.rule] }
	r.Grant = func(rules []string, _ string) error {
		for _, text := range rules {
			m.allowed[text] = true
		}
		return nil
	}
	r.Record = func(event.Resolution) error {
		if a.broken {
			return errors.New("the disk is full")
		}
		return nil
	}
	if rapid.Bool().Draw(t, "expires") {
		a.expiry = time.Now().Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "minutes")) * time.Minute)
		r.Question.Expires = a.expiry
	}
	ctx, leave := context.WithCancelCause(context.Background())
	a.leave = leave
	ticket := m.queue.Open(r)
	m.open[id] = a
	go func() {
		s, _ := ticket.Wait(ctx)
		a.ends <- s
	}()
}

func (m *machine) resolve(t *rapid.T, id string, want event.QuestionState) {
	synctest.Wait()
	select {
	case s := <-m.open[id].ends:
		if s.State != want {
			t.Fatalf("%s ended as %q, not %q", id, s.State, want)
		}
	default:
		t.Fatalf("the asker of %s still waits; it is %s", id, want)
	}
	delete(m.open, id)
	m.settled[id] = want
}

func (m *machine) pick(t *rapid.T) string {
	if m.next == 0 {
		t.Skip("nothing was asked")
	}
	return fmt.Sprint("q", rapid.IntRange(1, m.next).Draw(t, "question"))
}

func (m *machine) answer(t *rapid.T) {
	id, always := m.pick(t), rapid.Bool().Draw(t, "always")
	err := m.queue.Answer(id, "user", event.Answer{Allow: true, Always: always})
	a := m.open[id]
	switch {
	case a == nil:
		if late := (*event.ResolvedQuestionError)(nil); !errors.As(err, &late) || late.State != m.settled[id] {
			t.Fatalf("an answer to %s, which is %s: %v", id, m.settled[id], err)
		}
	case a.broken:
		if err == nil {
			t.Fatal("an answer that could not be recorded counted")
		}
	default:
		if err != nil {
			t.Fatal(err)
		}
		m.resolve(t, id, event.QuestionAnswered)
		if always {
			m.cover(t)
		}
	}
}

func (m *machine) cover(t *rapid.T) {
	for id, a := range m.open {
		if m.allowed[a.rule] {
			m.resolve(t, id, event.QuestionCovered)
		}
	}
}

func (m *machine) withdraw(t *rapid.T) {
	id := m.pick(t)
	if a := m.open[id]; a != nil {
		a.leave(errWithdrawn)
		m.resolve(t, id, event.QuestionWithdrawn)
	}
}

func (m *machine) wait(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 3).Draw(t, "minutes")) * time.Minute)
	for id, a := range m.open {
		if !a.expiry.IsZero() && !time.Now().Before(a.expiry) {
			want := event.QuestionExpired
			if a.broken {
				want = event.QuestionWithdrawn
			}
			m.resolve(t, id, want)
		}
	}
}

func (m *machine) check(t *rapid.T) {
	var ids []string
	for _, q := range m.queue.List() {
		ids = append(ids, q.ID)
	}
	if len(ids) != len(m.open) || slices.ContainsFunc(ids, func(id string) bool { return m.open[id] == nil }) {
		t.Fatalf("in the queue are %v, and %d should be", ids, len(m.open))
	}
}

// bubble hides the test's deadline, which virtual time does not have.
type bubble struct{ testing.TB }

func TestQuestionIsResolvedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubble{t}, func(t *rapid.T) {
			m := &machine{open: map[string]*asker{}, settled: map[string]event.QuestionState{}, allowed: map[string]bool{}}
			t.Repeat(map[string]func(*rapid.T){
				"ask": m.ask, "answer": m.answer, "leave": m.withdraw, "wait": m.wait, "": m.check,
			})
			for _, a := range m.open {
				a.leave(errWithdrawn)
			}
		})
	})
}

func TestUnrecordedAnswerLeavesTheQuestionOpen(t *testing.T) {
	var d ask.Queue
	full, r := errors.New("the disk is full"), request("q")
	r.Record = func(event.Resolution) error { return full }
	ticket := d.Open(r)
	if err := d.Answer("q", "user", event.Answer{Allow: true}); !errors.Is(err, full) {
		t.Fatalf("the answer: %v", err)
	}
	if len(d.List()) != 1 {
		t.Fatal("the question is gone")
	}
	full = nil
	if err := d.Answer("q", "user", event.Answer{Allow: true, Note: "go"}); err != nil {
		t.Fatal(err)
	}
	if s, err := ticket.Wait(t.Context()); err != nil || s.State != event.QuestionAnswered || s.By != "user" || s.Answer.Note != "go" {
		t.Fatalf("%+v, %v", s, err)
	}
}

func TestExpiryIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d ask.Queue
		var recorded []event.QuestionState
		r := request("q")
		r.Question.Expires = time.Now().Add(time.Hour)
		r.Record = func(s event.Resolution) error { recorded = append(recorded, s.State); return nil }
		begun := time.Now()
		s, err := d.Open(r).Wait(t.Context())
		if err != nil || s.State != event.QuestionExpired || time.Since(begun) != time.Hour || !slices.Equal(recorded, []event.QuestionState{event.QuestionExpired}) {
			t.Fatalf("%+v, %v after %v; recorded %v", s, err, time.Since(begun), recorded)
		}
	})
}

func TestAlwaysResolvesCoveredQuestions(t *testing.T) {
	var d ask.Queue
	granted := map[string]bool{}
	var tickets []*ask.Ticket
	for i, rule := range []string{"a", "a", "b"} {
		r := request(fmt.Sprint("q", i))
		r.Question.Rules = []string{rule}
		r.Grant = func(rules []string, _ string) error { granted[rules[0]] = true; return nil }
		r.Covered = func() bool { return granted[rule] }
		tickets = append(tickets, d.Open(r))
	}
	if err := d.Answer("q0", "user", event.Answer{Allow: true, Always: true}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []event.QuestionState{event.QuestionAnswered, event.QuestionCovered} {
		if s, err := tickets[i].Wait(t.Context()); err != nil || s.State != want {
			t.Errorf("question %d: %+v, %v", i, s, err)
		}
	}
	if left := d.List(); len(left) != 1 || left[0].ID != "q2" {
		t.Errorf("open are %+v", left)
	}
}

// Of several concurrent answers to one question only one counts.
func TestConcurrentAnswersCountOnce(t *testing.T) {
	var d ask.Queue
	const n = 16
	r, inside := request("q"), make(chan struct{})
	r.Record = func(event.Resolution) error { <-inside; return nil }
	ticket := d.Open(r)
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- d.Answer("q", "user", event.Answer{Allow: i%2 == 0}) }()
	}
	for range n - 1 {
		if late := (*event.ResolvedQuestionError)(nil); !errors.As(<-errs, &late) {
			t.Error("a second answer counted")
		}
	}
	close(inside)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	if _, err := ticket.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInvalidAnswersAreRefused(t *testing.T) {
	var d ask.Queue
	plain := request("permission")
	plain.Question.Rules = nil
	d.Open(plain)
	own := request("question")
	own.Question.Kind, own.Question.Rules = event.AsksAnswer, nil
	own.Question.Choices = []event.Choice{{Question: "which?"}, {Question: "what?", MultiSelect: true}}
	d.Open(own)
	for name, c := range map[string]struct {
		id string
		a  event.Answer
	}{
		"no rule for always":      {"permission", event.Answer{Allow: true, Always: true}},
		"always no":               {"permission", event.Answer{Always: true}},
		"text for a permission":   {"permission", event.Answer{Allow: true, Text: "yes"}},
		"empty":                   {"question", event.Answer{Allow: true}},
		"too many":                {"question", event.Answer{Choices: [][]string{{"a"}, {"b"}, {"c"}}}},
		"two where one is wanted": {"question", event.Answer{Choices: [][]string{{"a", "b"}}}},
	} {
		if bad := (*event.AnswerNotPermittedError)(nil); !errors.As(d.Answer(c.id, "user", c.a), &bad) {
			t.Errorf("%s: the answer counted", name)
		}
	}
	if forged := (*event.UnknownQuestionError)(nil); !errors.As(d.Answer("forged", "user", event.Answer{Allow: true}), &forged) || len(forged.Open) != 2 {
		t.Errorf("an id that nobody has: %v", forged)
	}
	if err := d.Answer("question", "user", event.Answer{Choices: [][]string{{"a"}, {"b", "c"}}}); err != nil {
		t.Error(err)
	}
}
