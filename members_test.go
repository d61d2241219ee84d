package swarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// leadFor answers with its first step, and then with the last text that it was sent.
func leadFor(calls ...model.Block) model.Model {
	return coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 && len(calls) > 0 {
				return coordinatortest.Use(calls...)
			}
			return coordinatortest.Say("heard: " + r.Messages[len(r.Messages)-1].Text())
		},
	})
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// remoteOf reaches a session through its socket, as another process would.
func remoteOf(t *testing.T, s *swarm.Session) *swarm.Remote {
	t.Helper()
	for ctx := soon(t); ; {
		r, err := swarm.Dial(stateOf(s), s.Info())
		if err == nil {
			t.Cleanup(func() { r.Close() })
			return r
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// stateOf is the directory under which a session keeps its files.
func stateOf(s *swarm.Session) string {
	return filepath.Dir(filepath.Dir(filepath.Dir(s.Info().Path)))
}

func letter(to, text string) model.Block {
	return coordinatortest.Call("s-"+to, "SendMessage", map[string]any{"to": to, "message": text, "summary": "s"})
}

func TestAnOutsideMemberIsWrittenToAndWrites(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(letter("ext", "what do you see?")), swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	ctx := soon(t)
	r := remoteOf(t, s)
	ext, err := r.Join(ctx, "ext")
	ok(t, err)
	ok(t, s.Say("go"))
	mail, err := ext.Inbox(ctx, 10, time.Minute)
	ok(t, err)
	if len(mail) != 1 || mail[0].From != agent.LeadName || mail[0].Text != "what do you see?" || mail[0].Kind != mailbox.KindText {
		t.Fatalf("the mail is %+v", mail)
	}
	coordinatortest.Next(t, sub, "the end of the lead's turn", coordinatortest.TurnEnd(agent.LeadName))
	posted, err := ext.Send(ctx, swarm.Message{To: "team-lead", Text: "a tree", ReplyTo: mail[0].ID})
	ok(t, err)
	if len(posted) != 1 || posted[0].Name != agent.LeadName || posted[0].ID == "" {
		t.Errorf("posted: %+v", posted)
	}
	e := coordinatortest.Next(t, sub, "the lead's answer", coordinatortest.TurnEnd(agent.LeadName))
	if text := e.Fact.(event.TurnEnded).Text; !strings.Contains(text, "a tree") || !strings.Contains(text, `"ext"`) {
		t.Errorf("the lead said %q", text)
	}
	if got := state(t, s, "ext"); got.Record.Spec.Role != "outside" || got.Running {
		t.Errorf("the member is %+v", got)
	}
	if _, err := ext.Send(ctx, swarm.Message{To: "team-leed", Text: "x"}); err == nil || !strings.Contains(err.Error(), "did you mean team-lead") {
		t.Errorf("a letter to nobody: %v", err)
	}
}

func read(id mailbox.ID) func(event.Event) bool {
	return func(e event.Event) bool {
		f, ok := e.Fact.(event.MailStateChanged)
		return ok && f.State == mailbox.StateRead && len(f.IDs) == 1 && f.IDs[0] == id
	}
}

// A program that ends before it has acknowledged a message gets the message again, and only
// then does its sender get the receipt "read".
func TestMailStaysUnreadUntilTheProgramHasIt(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	ctx := soon(t)
	first, err := remoteOf(t, s).Join(ctx, "ext")
	ok(t, err)
	_, err = s.Send("ext", "once")
	ok(t, err)
	mail, err := first.Inbox(ctx, 1, time.Minute)
	ok(t, err)
	second, err := remoteOf(t, s).Join(ctx, "ext")
	ok(t, err)
	if _, err := first.Inbox(ctx, 1, 0, mail[0].ID); !errors.As(err, new(*swarm.SupersededError)) {
		t.Fatalf("an older incarnation was heard: %v", err)
	}
	if _, err := first.Send(ctx, swarm.Message{To: "*", Text: "x"}); !errors.As(err, new(*swarm.SupersededError)) {
		t.Fatalf("an older incarnation wrote: %v", err)
	}
	again, err := second.Inbox(ctx, 1, time.Minute)
	ok(t, err)
	if len(again) != 1 || again[0].ID != mail[0].ID || again[0].Text != "once" {
		t.Fatalf("the next program got %+v", again)
	}
	none, err := second.Inbox(ctx, 1, 0, again[0].ID)
	ok(t, err)
	if len(none) != 0 {
		t.Errorf("read mail came again: %+v", none)
	}
	coordinatortest.Next(t, sub, "the receipt", read(mail[0].ID))
}

func TestWhatAnOutsideMemberHasReadSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	s := sessionIn(t, dir, leadFor(), swarm.Options{NewSession: "again"})
	ctx := soon(t)
	ext, err := s.Join("ext")
	ok(t, err)
	for _, text := range []string{"one", "two"} {
		_, err := s.Send("ext", text)
		ok(t, err)
	}
	var mail []swarm.Mail
	for len(mail) < 2 {
		mail, err = ext.Inbox(ctx, 5)
		ok(t, err)
	}
	ok(t, ext.Read(mail[0].ID))
	state := stateOf(s)
	ok(t, s.Close())
	s = sessionIn(t, dir, leadFor(), swarm.Options{Session: "again", StateDir: state})
	ext, err = s.Join("ext")
	ok(t, err)
	mail, err = ext.Inbox(ctx, 5)
	ok(t, err)
	if len(mail) != 1 || mail[0].Text != "two" {
		t.Errorf("unread is %+v", mail)
	}
}

// taskOf calls a task tool and returns the result for the program.
func taskOf(t *testing.T, o *swarm.RemoteMember, tool string, in map[string]any) (string, bool) {
	t.Helper()
	raw, err := json.Marshal(in)
	ok(t, err)
	res, err := o.Task(soon(t), tool, raw)
	ok(t, err)
	return res.Text, res.IsError
}

func TestOnlyOneOutsideMemberGetsATask(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{})
	ctx := soon(t)
	var all []*swarm.RemoteMember
	for i := range 3 {
		o, err := remoteOf(t, s).Join(ctx, fmt.Sprint("ext", i))
		ok(t, err)
		all = append(all, o)
	}
	if text, bad := taskOf(t, all[0], "TaskCreate", map[string]any{"subject": "look", "writes": true}); bad {
		t.Fatal(text)
	}
	won := make(chan int, len(all))
	for i, o := range all {
		go func() {
			res, err := o.Task(ctx, "TaskUpdate", json.RawMessage(`{"taskId":"1","status":"in_progress"}`))
			if err != nil || res.IsError {
				i = -1
			}
			won <- i
		}()
	}
	winner := -1
	for range all {
		if i := <-won; i >= 0 {
			if winner >= 0 {
				t.Fatal("two have the task")
			}
			winner = i
		}
	}
	if winner < 0 {
		t.Fatal("nobody has the task")
	}
	other := all[(winner+1)%3]
	if text, bad := taskOf(t, other, "TaskUpdate", map[string]any{"taskId": "1", "status": "completed"}); !bad {
		t.Errorf("another one completed it: %s", text)
	}
	// Who leaves gives back what it has; a program that comes back under the name
	// does not have it.
	ok(t, all[winner].Leave(ctx))
	if text, bad := taskOf(t, other, "TaskUpdate", map[string]any{"taskId": "1", "status": "in_progress"}); bad {
		t.Errorf("it was not given back: %s", text)
	}
	if text, bad := taskOf(t, other, "TaskUpdate", map[string]any{"taskId": "1", "status": "completed"}); bad {
		t.Error(text)
	}
}

func TestNamesOfOutsideMembersAreTheirs(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(task("1", "ann", nil)), swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	ok(t, s.Say("go"))
	coordinatortest.Next(t, sub, "ann", func(e event.Event) bool { return e.Agent.Name == "ann" })
	for _, name := range []string{"", "team-lead", "Lead", "main", "user", "*", "a b", "a/b", "a\n", strings.Repeat("x", 65)} {
		if _, err := s.Join(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	if _, err := s.Join("ann"); !errors.As(err, new(*agent.NameTakenError)) {
		t.Errorf("the name of an agent was taken: %v", err)
	}
	ctx := soon(t)
	ext, err := remoteOf(t, s).Join(ctx, "ext")
	ok(t, err)
	ok(t, s.Kill(ctx, "ext"))
	if _, err := ext.Inbox(ctx, 1, 0); err == nil || !strings.Contains(err.Error(), "ended by the user") {
		t.Errorf("a killed member was heard: %v", err)
	}
	if _, err := s.Send("ext", "x"); !errors.As(err, new(*swarm.FinalError)) {
		t.Errorf("a message to a killed member: %v", err)
	}
}

// The answer comes to who waits, once; to one that has stopped waiting it is mail.
func TestAnOutsideMemberAsksTheUser(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{Attended: true})
	ctx := soon(t)
	ext, err := remoteOf(t, s).Join(ctx, "ext")
	ok(t, err)
	q := event.Choice{Question: "Which colour?", Options: []event.Option{{Label: "red"}, {Label: "blue"}}}
	reply, err := ext.Ask(ctx, q, 0)
	ok(t, err)
	asked := s.Questions()
	if reply.State != "" || len(asked) != 1 || asked[0].ID != reply.ID || asked[0].Agent.Name != "ext" {
		t.Fatalf("%+v; open are %+v", reply, asked)
	}
	ok(t, s.Answer(reply.ID, swarm.Answer{Choices: [][]string{{"blue"}}}))
	reply, err = ext.Answer(ctx, reply.ID, time.Minute)
	ok(t, err)
	if reply.State != "answered" || len(reply.Answer.Choices) != 1 || reply.Answer.Choices[0][0] != "blue" {
		t.Errorf("the answer is %+v", reply)
	}
	late, err := ext.Ask(ctx, q, 0)
	ok(t, err)
	ok(t, s.Answer(late.ID, swarm.Answer{Text: "green"}))
	mail, err := ext.Inbox(ctx, 5, time.Minute)
	ok(t, err)
	if len(mail) != 1 || mail[0].Kind != mailbox.KindAnswer || !strings.Contains(mail[0].Text, "green") || !strings.Contains(mail[0].Text, late.ID) {
		t.Errorf("the mail is %+v", mail)
	}
	gone, err := ext.Ask(ctx, q, 0)
	ok(t, err)
	ok(t, ext.Leave(ctx))
	for len(s.Questions()) > 0 && ctx.Err() == nil {
	}
	if err := s.Answer(gone.ID, swarm.Answer{Text: "x"}); !errors.As(err, new(*swarm.SettledQuestionError)) {
		t.Errorf("an answer to a question that was withdrawn: %v", err)
	}
}

func TestAnOutsideMemberOfASessionWithoutAPersonIsToldSo(t *testing.T) {
	s := sessionIn(t, t.TempDir(), leadFor(), swarm.Options{})
	ext, err := s.Join("ext")
	ok(t, err)
	if _, err := ext.Ask(soon(t), event.Choice{Question: "?"}); !errors.Is(err, swarm.ErrUnattended) {
		t.Errorf("got %v", err)
	}
}
