package roster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
)

func done(text string) func(context.Context, int, *model.Request) *model.Answer {
	return func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say(text) }
}

// hire puts an agent without a task into a team.
func hire(t *testing.T, n *coordinatortest.Node, in agent.Membership, name string) *transcript.Transcript {
	t.Helper()
	a, err := n.StartTeammate(t.Context(), coordinator.Teammate{Team: in, Call: spawn.Call{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestATeammateLeadsASubTeamWhoseMembersAnswerToIt(t *testing.T) {
	m := coordinatortest.By(answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(mate("c1", "ann"))
			}
			return coordinatortest.Say("ok")
		},
		"ann": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(mate("c1", "ben"))
			}
			return coordinatortest.Say("ann is done")
		},
		"ben": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(send("s1", "team-lead", "hello, my lead"))
			}
			return coordinatortest.Say("ben is done")
		},
	})
	dir := t.TempDir()
	n := coordinatortest.New(t, dir, m, options())
	n.Begin(t)
	n.Say(t, "go")
	if heard := all(t, n, "ann"); !strings.Contains(heard, "hello, my lead") || !strings.Contains(heard, "ben is done") {
		t.Errorf("ann did not hear her member: %s", heard)
	}
	if heard := all(t, n, "lead"); strings.Contains(heard, "ben") {
		t.Errorf("the lead heard of a member of ann's team: %s", heard)
	}
	n.End(t)
	n = coordinatortest.New(t, dir, m, options()) // the records agree
	teams := roster.New(n.Coordinator).Teams()
	ann, _ := n.Find("ann")
	ben, _ := n.Find("ben")
	if len(teams) != 2 || teams[1].Name != "ann" || teams[1].Lead != ann.ID() || !slices.Equal(teams[1].Members, []mailbox.AgentID{ben.ID()}) {
		t.Errorf("the teams are %+v", teams)
	}
}

func TestANameMeansSomebodyOfTheSendersTeamFirst(t *testing.T) {
	n := coordinatortest.Start(t, coordinatortest.By(answers{agent.LeadName: done("ok")}), options())
	r := roster.New(n.Coordinator)
	red := agent.Membership{Team: "red-1", Name: "red", Lead: agent.LeadID}
	blue := agent.Membership{Team: "blue-1", Name: "blue", Lead: agent.LeadID}
	redAnn, blueAnn, redBen := hire(t, n, red, "ann"), hire(t, n, blue, "ann"), hire(t, n, red, "ben")
	if got, err := r.Reach(redBen.Spec(), "Ann"); err != nil || got != redAnn {
		t.Errorf("ben of red means %v, %v", got, err)
	}
	if got, err := r.Reach(redBen.Spec(), "blue/ann"); err != nil || got != blueAnn {
		t.Errorf("blue/ann is %v, %v", got, err)
	}
	if _, err := r.Reach(n.Lead.Spec(), "ann"); !errors.As(err, new(*actors.AmbiguousNameError)) || !strings.Contains(err.Error(), "red/ann or blue/ann") {
		t.Errorf("the lead's ann is %v", err)
	}
	for name, want := range map[string]string{
		"red/zoe": `no agent named "red/zoe"`, "green/ann": `no team named "green"`, "blu/ann": "did you mean blue?",
	} {
		if _, err := r.Reach(redBen.Spec(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, want %s", name, err, want)
		}
	}
	if _, err := n.StartTeammate(t.Context(), coordinator.Teammate{Team: red, Call: spawn.Call{Name: "ANN"}}); !errors.As(err, new(*agent.NameTakenError)) {
		t.Errorf("a second ann in red: %v", err)
	}
	posted, err := r.Send(redBen, team.Message{To: team.Everyone, Text: "x"})
	if err != nil || len(posted) != 2 {
		t.Errorf("everyone for a member of red is %+v, %v; want its lead and ann", posted, err)
	}
	if err := n.Remove(t.Context(), redAnn.ID()); err != nil {
		t.Fatal(err)
	}
	if again := hire(t, n, red, "ann"); again.ID() == redAnn.ID() {
		t.Error("the name of somebody who has gone makes nobody new")
	}
}

func TestAnAgentInSeveralTeamsIsFoundInEach(t *testing.T) {
	dir := t.TempDir()
	n := coordinatortest.New(t, dir, coordinatortest.By(answers{agent.LeadName: done("ok")}), options())
	n.Begin(t)
	red := agent.Membership{Team: "red-1", Name: "red", Lead: agent.LeadID}
	blue := agent.Membership{Team: "blue-1", Name: "blue", Lead: agent.LeadID}
	ann := hire(t, n, red, "ann")
	if err := ann.SetTeams([]agent.Membership{red, blue}); err != nil {
		t.Fatal(err)
	}
	n.End(t)
	n = coordinatortest.New(t, dir, coordinatortest.By(nil), options())
	r := roster.New(n.Coordinator)
	for _, name := range []string{"ann", "red/ann", "blue/ann"} {
		if got, err := r.Reach(n.Lead.Spec(), name); err != nil || got.ID() != ann.ID() {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
}

func TestAFailedTurnIsBegunAnewAsOftenAsTheMemberAllows(t *testing.T) {
	tries := 0
	m := coordinatortest.By(answers{
		agent.LeadName: done("ok"),
		"ann": func(context.Context, int, *model.Request) *model.Answer {
			if tries++; tries <= 3 {
				return nil
			}
			return coordinatortest.Say("at last")
		},
	})
	for _, limit := range []int{2, 3} {
		tries = 0
		n := coordinatortest.Start(t, m, options())
		own := agent.Membership{Team: "red-1", Name: "red", Lead: agent.LeadID}
		ann, err := n.StartTeammate(t.Context(), coordinator.Teammate{
			Team: own, Call: spawn.Call{Name: "ann", Prompt: "go"}, Restart: agent.Restart{Max: limit},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Quiet(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[int]agent.Outcome{2: agent.Failed, 3: agent.Completed}[limit]
		if l := ann.Record(); l.Outcome != want || tries != limit+1 {
			t.Errorf("with %d restarts ann %s after %d tries", limit, l.Outcome, tries)
		}
		if heard := all(t, n, "lead"); strings.Count(heard, `kind=\"idle\"`) != 1 {
			t.Errorf("with %d restarts the lead was not told once: %s", limit, heard)
		}
	}
}
