package stall

import (
	"testing"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

func mail(ids ...mailbox.ID) []mailbox.Envelope {
	var all []mailbox.Envelope
	for _, id := range ids {
		all = append(all, mailbox.Envelope{ID: id})
	}
	return all
}

func unread(ids ...mailbox.ID) func() []mailbox.Envelope {
	return func() []mailbox.Envelope { return mail(ids...) }
}

func TestEachTryComesLaterThanTheOneBefore(t *testing.T) {
	var g Guard
	before := time.Duration(0)
	for n := 1; n <= 40; n++ {
		g.Begins(mail("a"))
		if g.Holds(unread("a")) {
			t.Fatal("mail is held while its turn runs")
		}
		next := g.Ended(true, mail("a"))
		wait, tries := next.Wait, next.Tries
		if tries != n || wait < before || wait > longest || n < 8 && wait != first<<(n-1) {
			t.Fatalf("try %d: %v, %d after %v", n, wait, tries, before)
		}
		if !g.Holds(unread("a")) {
			t.Fatal("the mail is not held")
		}
		g.Await(Retry{}, nil, nil)
		if g.Holds(unread("a")) {
			t.Fatal("the mail is held after its time")
		}
		before = wait
	}
	if before != longest {
		t.Errorf("the last wait is %v", before)
	}
}

func TestNothingIsAwaitedAfterTheEnd(t *testing.T) {
	over := make(chan struct{})
	close(over)
	if new(Guard).Await(Retry{Wait: time.Hour}, over, nil) || new(Guard).Await(Retry{Wait: time.Hour}, nil, over) {
		t.Error("an agent that has ended is woken")
	}
}

func TestNewMailIsNotHeldBack(t *testing.T) {
	var g Guard
	g.Begins(mail("a"))
	g.Ended(true, mail("a"))
	if g.Holds(unread("a", "b")) {
		t.Error("new mail is held")
	}
	g.Begins(mail("a", "b"))
	if g.Ended(true, mail("a", "b", "c")).Tries != 0 || g.Holds(unread("a", "b", "c")) {
		t.Error("mail that came during the turn is held")
	}
}

func TestATurnThatReadsItsMailEndsTheStall(t *testing.T) {
	for name, end := range map[string]struct {
		failed bool
		unread []mailbox.Envelope
	}{"read": {true, nil}, "not failed": {false, mail("a")}} {
		var g Guard
		for range 5 {
			g.Begins(mail("a"))
			g.Ended(true, mail("a"))
		}
		g.Begins(mail("a"))
		if g.Ended(end.failed, end.unread).Tries != 0 || g.Holds(unread("a")) {
			t.Errorf("%s: the mail is still held", name)
		}
		g.Begins(mail("b"))
		if wait := g.Ended(true, mail("b")).Wait; wait != first {
			t.Errorf("%s: then it waits for %v", name, wait)
		}
	}
}
