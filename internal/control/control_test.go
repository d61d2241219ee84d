package control_test

import (
	"context"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/control"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin returns the agents of a session whose lead answers with m.
func begin(t *testing.T, lead func(context.Context, int, *model.Request) *model.Answer) (*coordinatortest.Node, *control.Agents) {
	t.Helper()
	n := coordinatortest.Start(t, coordinatortest.By(coordinatortest.Answers{agent.LeadName: lead}), coordinatortest.Options{})
	_, _, err := n.Store.Create(agent.Spec{ID: agent.UserID, Name: "user", Role: agent.User, Born: time.Now()})
	ok(t, err)
	return n, control.New(control.Options{
		Scope: t.Context(), Agents: n.Coordinator, Roster: roster.New(n.Coordinator), Store: n.Store,
		Detach: func(mailbox.AgentID) []string { return nil }, Begin: func() error { return nil },
	})
}

func TestDownWithoutNamesSparesTheLead(t *testing.T) {
	n, agents := begin(t, nil)
	for _, name := range []string{"ann", "ben"} {
		_, err := n.StartTeammate(t.Context(), coordinator.Teammate{Team: agent.Membership{Team: "crew", Name: "crew", Lead: agent.LeadID}, Call: spawn.Call{Name: name}})
		ok(t, err)
	}
	gone, err := agents.Down(t.Context(), nil, 0)
	if err != nil || len(gone) != 2 || !gone[0].Gone || !gone[1].Gone {
		t.Errorf("gone are %+v, %v", gone, err)
	}
	lead, err := agents.Find(agent.LeadName)
	ok(t, err)
	if lead.Record.Closed || lead.Record.Shutdown.Leaving() {
		t.Error("the lead was shut down too")
	}
}

func TestALeadAtRestIsNotInterrupted(t *testing.T) {
	entered := make(chan struct{})
	n, agents := begin(t, func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
		close(entered)
		<-ctx.Done()
		return coordinatortest.Say("cut")
	})
	if agents.InterruptLead() {
		t.Error("a lead at rest was interrupted")
	}
	ok(t, n.Lead.Prompt("user", "work"))
	n.Wake(agent.LeadID)
	<-entered
	if !agents.LeadRuns() || !agents.InterruptLead() {
		t.Error("a lead at work was not interrupted")
	}
	ok(t, agents.StopLead(10*time.Second))
}
