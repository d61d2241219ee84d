package swarm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
)

// A held message is delivered when the user allows it, and its sender is notified of the
// decision. A waiting message does not stop those behind it.
func TestTheUserDecidesAboutHeldMessages(t *testing.T) {
	from, receiver := two(t, swarm.Options{Attended: true, Inbound: swarm.InboundHold})
	there, here := receiver.Events(), from.Events()
	defer there.Close()
	defer here.Close()
	_, err := from.Send("receiver", "let me in")
	ok(t, err)
	first := asksUser(t, there)
	if !strings.Contains(first.Choices[0].Question, "let me in") || first.Agent.Name != "session-sender" || !strings.Contains(first.Reason, "inbound: hold") {
		t.Errorf("asked: %+v", first)
	}
	if within := first.Expires.Sub(first.Asked); within < 4*time.Minute || within > 6*time.Minute {
		t.Errorf("it expires after %v", within)
	}
	warned(t, here, "held by session-receiver: its user is asked")
	_, err = from.Send("receiver", "me too")
	ok(t, err)
	second := asksUser(t, there)
	choose(t, receiver, second, "Deliver")
	if e := leadGets(t, there); e.Body != "me too" {
		t.Errorf("it got %+v", e)
	}
	warned(t, here, "delivered by session-receiver")
	ok(t, receiver.Answer(first.ID, swarm.Answer{Choices: [][]string{{"Refuse"}}}))
	warned(t, here, "denied by session-receiver: its user does not let the message in")
	if n := len(receiver.Questions()); n != 0 {
		t.Errorf("%d questions are open", n)
	}
}

// The lead that wrote is notified by mail; without an answer the time runs out.
func TestAHeldMessageExpires(t *testing.T) {
	dir := t.TempDir()
	receiver := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{StateDir: dir, NewSession: "receiver", Mode: "default", InboundExpiry: 300 * time.Millisecond})
	ok(t, receiver.Begin())
	from := sessionIn(t, t.TempDir(), leadFor(letter("receiver", "hello")), swarm.Options{StateDir: dir, NewSession: "sender"}) // which bypasses permissions
	sub := from.Events()
	defer sub.Close()
	ok(t, from.Say("go"))
	for _, want := range []string{`"held"`, `"expired"`} {
		if told := leadGets(t, sub); !strings.Contains(told.Body, want) || told.From.Agent != "session-receiver" || told.Kind != mailbox.KindReceipt {
			t.Errorf("instead of %s the sender was told %+v", want, told)
		}
	}
	if lead := state(t, receiver, agent.LeadName); lead.Record.Turns != 0 {
		t.Errorf("the lead heard of it: %+v", lead)
	}
}

// A held message is with its receiver: after a kill its user is asked the same under
// the same id, whether its sender still runs or not.
func TestAHeldMessageSurvivesAKill(t *testing.T) {
	state, senders := t.TempDir(), t.TempDir()
	from := sessionIn(t, senders, leadFor(), swarm.Options{StateDir: state, NewSession: "sender"})
	ok(t, from.Begin())
	here := from.Events()
	defer here.Close()
	c, _ := launch(t, state, inboundVar+"=hold")
	long := "let me in. " + strings.Repeat("a long story. ", 8000)
	posted, err := from.Send("receiver", long)
	ok(t, err)
	warned(t, here, "held by session-receiver")
	remote, err := swarm.Dial(state, swarm.Info{ID: "receiver"})
	ok(t, err)
	before, err := remote.Questions(soon(t))
	ok(t, err)
	remote.Close()
	kill(t, c)
	ok(t, from.Close())

	receiver := sessionIn(t, state, leadFor(), swarm.Options{StateDir: state, Session: "receiver"})
	ok(t, receiver.Begin())
	after := receiver.Questions()
	if len(before) != 1 || len(after) != 1 || after[0].ID != before[0].ID || !after[0].Expires.Equal(before[0].Expires) || after[0].Choices[0].Question != before[0].Choices[0].Question {
		t.Fatalf("it asked %+v and asks %+v", before, after)
	}
	there := receiver.Events()
	defer there.Close()
	choose(t, receiver, after[0], "Deliver")
	e := leadGets(t, there)
	if whole, err := swarm.WholeBody(receiver.Info(), e); err != nil || whole != long {
		t.Errorf("%d bytes of %d came in, %v", len(whole), len(long), err)
	}
	again := sessionIn(t, senders, leadFor(), swarm.Options{StateDir: state, Session: "sender"})
	told := again.Events()
	defer told.Close()
	ok(t, again.Begin())
	warned(t, told, "delivered by session-receiver")
	ended(t, again, posted[0].ID, mailbox.StateRead)
	if all, err := receiver.Inbox(agent.LeadName); err != nil || len(all) != 1 {
		t.Errorf("the lead has %d messages, %v", len(all), err)
	}
}

// ended waits until a message has come as far as it goes.
func ended(t *testing.T, s *swarm.Session, id mailbox.ID, want mailbox.State) {
	t.Helper()
	for {
		m, err := s.Message(id)
		ok(t, err)
		if m.State() == want {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-soon(t).Done():
			t.Fatalf("the message is %+v", m.Steps)
		}
	}
}

// The options with which a session is opened again decide about the messages that it holds.
func TestOtherOptionsDecideAboutHeldMessages(t *testing.T) {
	for inbound, want := range map[swarm.Inbound]string{swarm.InboundAccept: "taken", swarm.InboundRefuse: "refused"} {
		t.Run(string(inbound), func(t *testing.T) {
			dir := t.TempDir()
			s := sessionIn(t, dir, leadFor(), swarm.Options{StateDir: dir, NewSession: "receiver", Inbound: swarm.InboundHold})
			ok(t, s.Begin())
			if got := poster(t, s)("other", "m1", "hello"); !strings.Contains(got, `"held"`) {
				t.Fatalf("it is %s", got)
			}
			ok(t, s.Close())
			s = sessionIn(t, dir, leadFor(), swarm.Options{StateDir: dir, Session: "receiver", Inbound: inbound})
			ok(t, s.Begin())
			if got := poster(t, s)("other", "m1", ""); !strings.Contains(got, `"`+want+`"`) || len(s.Questions()) != 0 {
				t.Errorf("it is %s, asked: %+v", got, s.Questions())
			}
		})
	}
}

// poster posts messages to a session's socket, as another session does; with an empty text
// it asks for the state of one.
func poster(t *testing.T, s *swarm.Session) func(session, id, text string) string {
	t.Helper()
	remoteOf(t, s)
	conn, err := natsd.DialUnix(s.Info().Socket(stateOf(s)))
	ok(t, err)
	t.Cleanup(conn.Close)
	return func(session, id, text string) string {
		t.Helper()
		raw, err := json.Marshal(map[string]any{"letter": map[string]any{"session": session, "dir": "/d", "from": "lead", "id": id, "text": text, "again": text == ""}})
		ok(t, err)
		got, err := conn.RequestWithContext(soon(t), "sw."+s.ID()+".api.letter", raw)
		ok(t, err)
		return string(got.Data)
	}
}

// The user is asked about a hundred messages at most: one more takes the place of the
// oldest, whose sender is notified.
func TestTheOldestOfTooManyHeldMessagesIsDropped(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{NewSession: "receiver", Inbound: swarm.InboundHold, InboundExpiry: -1})
	ok(t, s.Begin())
	post := poster(t, s)
	const most = 100
	for i := range most + 1 {
		if got := post(fmt.Sprint("other", i/25), fmt.Sprint("m", i), fmt.Sprint("text ", i)); !strings.Contains(got, `"held"`) {
			t.Fatalf("number %d is %s", i, got)
		}
	}
	open := s.Questions()
	if len(open) != most || !strings.Contains(open[0].Choices[0].Question, "text 1") || !open[0].Expires.IsZero() {
		t.Errorf("%d questions are open, the first: %+v", len(open), open[0])
	}
	if got := post("other0", "m0", ""); !strings.Contains(got, `"refused"`) || !strings.Contains(got, "100 newer messages") {
		t.Errorf("the oldest is %s", got)
	}
	if got := post("other0", "m1", ""); !strings.Contains(got, `"held"`) || !strings.Contains(got, `"kept"`) {
		t.Errorf("the second is %s", got)
	}
	if got := post("other0", "never", ""); !strings.Contains(got, "not known any more") {
		t.Errorf("one that was never posted is %s", got)
	}
}
