package natsbox

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
)

func pass(t *testing.T, g *throttle) (asks bool) {
	t.Helper()
	reply, err := g.acquire()
	if err != nil {
		t.Fatal(err)
	}
	return reply == g.reply
}

func ack(t *testing.T, g *throttle) {
	t.Helper()
	if err := g.handleReply(&nats.Msg{Data: []byte(`{"stream":"MB_x","seq":1}`)}); err != nil {
		t.Fatal(err)
	}
}

func TestThrottleRequestsTheFirstReplyAndThenOneInMany(t *testing.T) {
	g := newThrottle("reply")
	asked := 0
	for range 1 + 3*replyEvery {
		if pass(t, g) {
			asked++
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times for %d messages, want 4", asked, 1+3*replyEvery)
	}
	for range 4 {
		ack(t, g)
	}
	if !pass(t, g) {
		t.Error("after a quiet time the first message does not ask")
	}
}

func TestThrottleBlocksUntilAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newThrottle("reply")
		for range 1 + (maxMissing-1)*replyEvery {
			pass(t, g)
		}
		through := make(chan struct{})
		go func() {
			pass(t, g)
			close(through)
		}()
		synctest.Wait()
		select {
		case <-through:
			t.Error("a message went through a full gate")
		default:
		}
		ack(t, g)
		<-through
	})
}

func TestThrottleReportsMissingRepliesAndContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, start := newThrottle("reply"), time.Now()
		for range 1 + (maxMissing-1)*replyEvery {
			pass(t, g)
		}
		if reply, err := g.acquire(); !errors.Is(err, errNoReply) || reply != "reply" {
			t.Errorf("pass = %q, %v, want errUnanswered and another question", reply, err)
		}
		if waited := time.Since(start); waited != replyTimeout {
			t.Errorf("waited %v, want %v", waited, replyTimeout)
		}
		pass(t, g) // reported once
	})
}

func TestThrottleOfAStoppedBoxIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newThrottle("reply")
		for range 1 + (maxMissing-1)*replyEvery {
			pass(t, g)
		}
		result := make(chan error)
		go func() {
			_, err := g.acquire()
			result <- err
		}()
		synctest.Wait()
		g.close()
		if err := <-result; !errors.Is(err, mailbox.ErrStopped) {
			t.Errorf("a waiting message got %v, want ErrStopped", err)
		}
	})
}

func TestThrottleDecodesReplies(t *testing.T) {
	g := newThrottle("reply")
	err := g.handleReply(&nats.Msg{Data: []byte(`{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"},"seq":0}`)})
	if err == nil || !strings.Contains(err.Error(), "maximum bytes exceeded (10077)") {
		t.Errorf("a refusal is read as %v", err)
	}
	if err := g.handleReply(&nats.Msg{}); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("no stream is read as %v", err)
	}
	if err := g.handleReply(&nats.Msg{Data: []byte(`"error"`)}); err == nil {
		t.Error("nonsense is read as a success")
	}
}
