package swarm_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
)

// two opens a session that writes and one that is written to, on one state.
func two(t *testing.T, to swarm.Options) (from, receiver *swarm.Session) {
	t.Helper()
	state := t.TempDir()
	to.StateDir, to.NewSession = state, "receiver"
	receiver = sessionIn(t, t.TempDir(), leadFor(), to)
	ok(t, receiver.Begin())
	from = sessionIn(t, t.TempDir(), leadFor(), swarm.Options{StateDir: state, NewSession: "sender", Inbound: swarm.InboundAccept})
	ok(t, from.Begin())
	return from, receiver
}

func socket(s *swarm.Session) string { return "uds:" + s.Info().Socket(stateOf(s)) }

// answersOf waits for the end of the lead's turn and returns its text.
func answersOf(t *testing.T, sub *event.Subscription) string {
	t.Helper()
	return coordinatortest.Next(t, sub, "the end of the lead's turn", coordinatortest.TurnEnd(agent.LeadName)).Fact.(event.TurnEnded).Text
}

// A lead writes to the lead of another session, which reads the message as data of
// that session, and answers it.
func TestALeadWritesToAnotherSession(t *testing.T) {
	state := t.TempDir()
	receiver := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{StateDir: state, NewSession: "receiver", Inbound: swarm.InboundAccept})
	ok(t, receiver.Begin())
	m := coordinatortest.By(coordinatortest.Answers{agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
		if step == 0 {
			return coordinatortest.Use(coordinatortest.Call("c1", "ListAgents", map[string]any{}), letter(socket(receiver), "what do you build?"))
		}
		return coordinatortest.Say(string(r.Messages[len(r.Messages)-1].Raw()))
	}})
	from := sessionIn(t, t.TempDir(), m, swarm.Options{StateDir: state, NewSession: "sender", Inbound: swarm.InboundAccept})
	there, here := receiver.Events(), from.Events()
	defer there.Close()
	defer here.Close()
	ok(t, from.Say("go"))
	listed := answersOf(t, here)
	if !strings.Contains(listed, "session receiver ("+socket(receiver)+")") || !strings.Contains(listed, "queued for session-receiver") {
		t.Errorf("the lead was told %s", listed)
	}
	heard := answersOf(t, there)
	if !strings.Contains(heard, "what do you build?") || !strings.Contains(heard, `"session-sender"`) || !strings.Contains(heard, "not the user's consent") {
		t.Errorf("the other lead heard %s", heard)
	}
	lead, _ := receiver.Send("session-sender", "a house")
	if len(lead) != 1 || lead[0].Err != nil {
		t.Fatalf("the answer: %+v", lead)
	}
	if back := answersOf(t, here); !strings.Contains(back, "a house") || !strings.Contains(back, `session-receiver`) {
		t.Errorf("the lead heard %s", back)
	}
}

func TestAddressesOfOtherSessions(t *testing.T) {
	from, receiver := two(t, swarm.Options{Inbound: swarm.InboundAccept})
	sub := receiver.Events()
	defer sub.Close()
	for _, to := range []string{socket(receiver), "receiver", "session-receiver"} {
		_, err := from.Send(to, "to "+to)
		ok(t, err)
		if heard := answersOf(t, sub); !strings.Contains(heard, "to "+to) {
			t.Errorf("it heard %s", heard)
		}
	}
	if _, err := from.Send(socket(from), "me"); !errors.Is(err, team.ErrSelf) {
		t.Errorf("to itself: %v", err)
	}
	if _, err := from.Send("uds:/tmp/nobody.sock", "x"); err == nil || !strings.Contains(err.Error(), "leads to no session") {
		t.Errorf("to no session: %v", err)
	}
	if _, err := from.Send("bridge:receiver", "x"); !errors.As(err, new(*team.UnreachableSessionError)) || !strings.Contains(err.Error(), "swarm resume sender --nats URL") {
		t.Errorf("over a bridge: %v", err)
	}
	if _, err := from.Send("nobody", "x"); !errors.As(err, new(*team.UnknownAgentError)) {
		t.Errorf("to nobody: %v", err)
	}
	if _, err := from.SendClass("receiver", "x", mailbox.ClassControl); err == nil {
		t.Error("a control message left the session")
	}
	if _, err := from.Join("session-receiver"); err == nil {
		t.Error("a program took the name of a session")
	}
	gone := receiver.Info().ID
	ok(t, receiver.Close())
	down := (*swarm.NotRunningError)(nil)
	if _, err := from.Send(gone, "x"); !errors.As(err, &down) || !strings.Contains(err.Error(), "swarm resume receiver") {
		t.Errorf("to one that does not run: %v", err)
	}
}

// leadGets waits for the next message that the lead of a session gets.
func leadGets(t *testing.T, sub *event.Subscription) mailbox.Envelope {
	t.Helper()
	return coordinatortest.Next(t, sub, "a message", arrivedAtLead).Fact.(event.MailArrived).Envelope
}

func arrivedAtLead(e event.Event) bool {
	m, ok := e.Fact.(event.MailArrived)
	return ok && m.Envelope.To.Agent == agent.LeadID
}

func TestASessionRefusesMessagesOfOthers(t *testing.T) {
	dir := t.TempDir()
	receiver := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{StateDir: dir, NewSession: "receiver", Inbound: swarm.InboundRefuse})
	ok(t, receiver.Begin())
	from := sessionIn(t, t.TempDir(), leadFor(letter("receiver", "hello")), swarm.Options{StateDir: dir, NewSession: "sender"})
	sub := from.Events()
	defer sub.Close()
	ok(t, from.Say("go"))
	if told := leadGets(t, sub); !strings.Contains(told.Body, `"rejected"`) || told.From.Agent != "session-receiver" || told.Kind != mailbox.KindReceipt {
		t.Errorf("the sender was told %+v", told)
	}
	if lead := state(t, receiver, agent.LeadName); lead.Record.Turns != 0 {
		t.Errorf("the lead heard of it: %+v", lead)
	}
}

// Messages of a run to another session have arrived when the run ends.
func TestARunEndsWhenItsMessagesHaveLeft(t *testing.T) {
	dir := t.TempDir()
	receiver := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{StateDir: dir, NewSession: "receiver", Inbound: swarm.InboundAccept})
	ok(t, receiver.Begin())
	remoteOf(t, receiver)
	from := sessionIn(t, t.TempDir(), leadFor(letter("receiver", "bye")), swarm.Options{StateDir: dir, NewSession: "sender"})
	_, err := from.Run(soon(t), "go")
	ok(t, err)
	all, err := receiver.Inbox(agent.LeadName)
	ok(t, err)
	if len(all) != 1 || all[0].Envelope.Body != "bye" || all[0].Envelope.From.Agent != "session-sender" {
		t.Errorf("after the run the other session has %+v", all)
	}
}

// natsVar names the server that a receiver in a process of its own uses.
const (
	natsVar    = "SWARM_TEST_NATS"
	inboundVar = "SWARM_TEST_INBOUND" // what it does with messages of others; accept if it is not set
)

// receiverLife is a session in a process of its own, to be killed.
func receiverLife(state string) error {
	o := swarm.Options{
		Dir: state, StateDir: state, Home: state, Inbound: swarm.Inbound(cmp.Or(os.Getenv(inboundVar), "accept")), NATS: swarm.NATS{URL: os.Getenv(natsVar)},
		Models: func(name string) (model.Model, string, error) { return leadFor(), name, nil },
	}
	if _, err := swarm.FindSession(state, state, "receiver"); err == nil {
		o.Session = "receiver"
	} else {
		o.NewSession = "receiver"
	}
	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		return err
	}
	sub := s.Events()
	if err := s.Begin(); err != nil {
		return err
	}
	if err := s.Ready(ctx); err != nil {
		return err
	}
	fmt.Println("up")
	narrate(ctx, sub, func(f event.Fact) bool {
		m, ok := f.(event.MailArrived)
		return ok && m.Envelope.To.Agent == agent.LeadID
	})
	return s.Close()
}

// launch runs the receiver in a process of its own and returns when it answers.
func launch(t *testing.T, state string, env ...string) (c *exec.Cmd, next func()) {
	t.Helper()
	c = exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(append(os.Environ(), roleVar+"=receiver", stateVar+"="+state), env...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	ok(t, err)
	ok(t, c.Start())
	lines := bufio.NewScanner(out)
	next = func() {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the receiver ended: %v", lines.Err())
		}
	}
	next()
	return c, next
}

func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	ok(t, c.Process.Kill())
	if err := c.Wait(); err == nil {
		t.Fatal("the receiver had ended by itself")
	}
}

// A receiver that is killed when it has a message, whether or not it has answered,
// has it once: the sender repeats until it is answered.
func TestAMessageToAKilledSessionArrivesOnce(t *testing.T) {
	state := t.TempDir()
	from := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{StateDir: state, NewSession: "sender"})
	ok(t, from.Begin())
	arrivesOnce(t, from, "receiver", state)
}

// arrivesOnce writes to a receiver that is kept in state and killed again and again.
func arrivesOnce(t *testing.T, from *swarm.Session, to, state string, env ...string) {
	t.Helper()
	sub := from.Events()
	defer sub.Close()
	texts := []string{"the first.", "the second.", "the third."}
	for _, text := range texts {
		c, next := launch(t, state, env...)
		posted, err := from.Send(to, text)
		ok(t, err)
		next()
		kill(t, c)
		c, _ = launch(t, state, env...)
		coordinatortest.Next(t, sub, "the answer to "+text, read(posted[0].ID))
		kill(t, c)
	}
	s := sessionIn(t, state, leadFor(), swarm.Options{StateDir: state, Session: "receiver"})
	_, err := s.Resume(soon(t))
	ok(t, err)
	heard := ""
	for _, m := range conversation(t, s.Info().Path, agent.LeadName) {
		if strings.Contains(m, `"role":"user"`) {
			heard += m
		}
	}
	for _, text := range texts {
		if n := strings.Count(heard, text); n != 1 {
			t.Errorf("%q was heard %d times in %s", text, n, heard)
		}
	}
}

// A message whose answer was lost is posted again, and is one message.
func TestALetterThatIsPostedTwiceIsOneMessage(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{NewSession: "receiver", Inbound: swarm.InboundAccept})
	ok(t, s.Begin())
	sub := s.Events()
	defer sub.Close()
	remoteOf(t, s)
	conn, err := natsd.DialUnix(s.Info().Socket(stateOf(s)))
	ok(t, err)
	defer conn.Close()
	post := func(id, text string) string {
		raw, err := json.Marshal(map[string]any{"letter": map[string]any{"session": "other", "dir": "/d", "from": "lead", "id": id, "text": text}})
		ok(t, err)
		got, err := conn.RequestWithContext(soon(t), "sw.receiver.api.letter", raw)
		ok(t, err)
		return string(got.Data)
	}
	for _, l := range [][2]string{{"m1", "one"}, {"m1", "one"}, {"m2", "two"}} {
		if got := post(l[0], l[1]); !strings.Contains(got, `"taken"`) {
			t.Fatalf("the answer is %s", got)
		}
	}
	for _, want := range []string{"one", "two"} {
		if e := leadGets(t, sub); e.Body != want {
			t.Errorf("got %q, want %q", e.Body, want)
		}
	}
	for _, bad := range [][2]string{{"", "x"}, {"m3", " "}} {
		if got := post(bad[0], bad[1]); !strings.Contains(got, `"refused"`) {
			t.Errorf("the answer is %s", got)
		}
	}
}
