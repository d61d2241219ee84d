package roster_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
)

// A program outside is a member like others: it is listed, gets mail and writes,
// runs no turn, holds up no end, and is what it was after a restart.
func TestAProgramOutsideIsAMember(t *testing.T) {
	dir := t.TempDir()
	var heard, listed string
	m := coordinatortest.By(answers{agent.LeadName: func(_ context.Context, n int, r *model.Request) *model.Answer {
		switch n {
		case 0:
			return coordinatortest.Use(send("c1", "bob", "look at a.go"), coordinatortest.Call("c2", "ListAgents", map[string]any{}))
		case 1:
			listed = lastOf(r)
			return coordinatortest.Say("waiting")
		}
		heard = lastOf(r)
		return coordinatortest.Say("thanks")
	}})
	n := coordinatortest.New(t, dir, m, options())
	bob, err := n.AddMember("bob")
	if err != nil {
		t.Fatal(err)
	}
	n.Begin(t)
	n.Say(t, "go")
	if !strings.Contains(listed, "bob (outside, id bob): outside") {
		t.Errorf("the lead saw %s", listed)
	}
	n.Until(t, func() bool { return len(bob.Unread()) > 0 }) // nobody's rest waits for a program's mail
	mail := bob.Unread()
	if len(mail) != 1 || mail[0].Body != "look at a.go" || bob.Record().Turns != 0 {
		t.Fatalf("bob has %v and %+v", mail, bob.Record())
	}
	if _, err := roster.New(n.Coordinator).Send(bob, team.Message{To: "lead", Text: "a.go is fine"}); err != nil {
		t.Fatal(err)
	}
	n.AwaitRest(t)
	if !strings.Contains(heard, `teammate_id=\"bob\"`) || !strings.Contains(heard, "a.go is fine") {
		t.Errorf("the lead heard %s", heard)
	}
	if err := bob.Read(mail[0].ID); err != nil || len(bob.Unread()) != 0 {
		t.Errorf("after reading: %v, %v", bob.Unread(), err)
	}
	n.End(t)

	n = coordinatortest.New(t, dir, m, options())
	n.Begin(t)
	if _, err := n.AddMember("Carl"); err == nil {
		t.Error("a name in capitals was accepted")
	}
	if bob, err = n.AddMember("bob"); err != nil {
		t.Fatal(err)
	}
	if len(bob.Unread()) != 0 || bob.Record().TurnOpen {
		t.Errorf("after a restart bob has %v and %+v", bob.Unread(), bob.Record())
	}
	taken := (*agent.NameTakenError)(nil)
	if _, err := n.AddMember("lead"); !errors.As(err, &taken) {
		t.Errorf("the name of the lead: %v", err)
	}
	r := roster.New(n.Coordinator)
	lead, _ := n.Find("lead")
	if err := n.RemoveMember(bob.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Send(lead, team.Message{To: "bob", Text: "?"}); !errors.As(err, new(*actors.FinalError)) {
		t.Errorf("writing to one who was removed: %v", err)
	}
	if _, err := n.AddMember("bob"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Send(lead, team.Message{To: "bob", Text: "?"}); err != nil {
		t.Errorf("writing to one who is back: %v", err)
	}
	n.Until(t, func() bool { return len(bob.Unread()) == 1 })
	if err := bob.Read("no-such-message", mailbox.ID("m1")); err != nil || len(bob.Unread()) != 1 {
		t.Errorf("reading what is not there: %v", err)
	}
}
