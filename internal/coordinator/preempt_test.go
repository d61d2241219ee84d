package coordinator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// The user cuts the lead's wait for a child: the child is not its victim.
func TestAControlMessageLeavesTheChildThatIsWaitedFor(t *testing.T) {
	working, free := make(chan struct{}), make(chan struct{})
	var cut string
	m := by(answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			switch step {
			case 0:
				return use(agentCall("c1", map[string]any{"description": "d", "prompt": "look"}))
			case 1:
				cut = lastOf(r)
				close(free)
				return say("all right")
			}
			return say(lastOf(r))
		},
		"general-purpose": func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
			close(working)
			select {
			case <-free:
			case <-ctx.Done():
				return nil
			}
			return say("found it")
		},
	})
	n := coordinatortest.Start(t, m, nodeOptions{})
	user, _, err := n.Store.Create(agent.Spec{ID: agent.UserID, Name: "user", Role: agent.User})
	must(t, err)
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	<-working
	_, durable, err := user.Send(mailbox.Envelope{To: mailbox.Address{Agent: agent.LeadID}, Kind: mailbox.KindText, Class: mailbox.ClassControl, Body: "hear me first"})
	must(t, err)
	must(t, durable())
	life := n.AwaitRest(t)
	if !strings.Contains(cut, "hear me first") || strings.Contains(cut, "found it") {
		t.Errorf("after the cut the lead saw %s", cut)
	}
	if !strings.Contains(life.Result, "found it") {
		t.Errorf("the child's report did not come: %+v", life)
	}
}
