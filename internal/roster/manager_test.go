package roster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/teamfile"
)

// managed is a node with a manager of its teams; "own" is the session's own.
type managed struct {
	*coordinatortest.Node
	*roster.Manager
	roster *roster.Roster
	boards *roster.Boards
}

func manage(t *testing.T) *managed {
	t.Helper()
	n := coordinatortest.Start(t, coordinatortest.By(answers{agent.LeadName: done("ok")}), options())
	m := &managed{Node: n, roster: roster.New(n.Coordinator)}
	m.boards = roster.NewBoards(n.Coordinator, func(context.Context, string) (board.Store, error) { return &board.Memory{}, nil }, board.Options{})
	t.Cleanup(m.boards.Close)
	m.Manager = roster.NewManager(n.Coordinator, m.roster, m.boards, roster.ManagerOptions{
		Team: m.roster.Teams()[0].ID, List: func(team string) string { return "list of " + team },
	})
	return m
}

// names returns the members of a team, by name.
func (m *managed) names(t *testing.T, name string) (all []string) {
	t.Helper()
	s, err := m.Status(t.Context(), name)
	must(t, err)
	for _, a := range s.Agents[1:] {
		all = append(all, agent.DisplayName(a.Record.Spec))
	}
	return all
}

func crewFile() teamfile.Team {
	return teamfile.Team{
		Name: "crew",
		Members: []teamfile.Member{
			{Name: "ann", Leads: &teamfile.Team{Name: "helpers", Members: []teamfile.Member{{Name: "ben"}}}},
			{Name: "carl"},
		},
		Tasks: []teamfile.Task{{Key: "1", Subject: "first", Owner: "carl"}, {Key: "2", Subject: "second", After: []string{"1"}}},
	}
}

func TestATeamThatIsUpStaysAsItIs(t *testing.T) {
	m := manage(t)
	first, err := m.Up(t.Context(), crewFile())
	must(t, err)
	if want := []string{"ann", "ben", "carl"}; !slices.Equal(first.New, want) {
		t.Errorf("new are %s; want %s", first.New, want)
	}
	if len(first.Tasks) != 2 || first.Tasks[0].Owner != "carl" || !slices.Equal(first.Tasks[1].BlockedBy, []board.ID{"1"}) {
		t.Errorf("the tasks are %+v", first.Tasks)
	}
	second, err := m.Up(t.Context(), crewFile())
	must(t, err)
	if second.New != nil || second.ID != first.ID || len(second.Tasks) != 2 {
		t.Errorf("the second time %+v came; want nobody", second)
	}
	if diff := cmp.Diff([]string{"ann", "carl"}, m.names(t, "crew")); diff != "" {
		t.Errorf("the members (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ben"}, m.names(t, "helpers")); diff != "" {
		t.Errorf("the members of ann's team (-want +got):\n%s", diff)
	}
}

func TestATeamThatCannotBeMadeMakesNobody(t *testing.T) {
	m := manage(t)
	before := m.roster.Teams()
	f := crewFile()
	f.Path, f.Members[1].Line, f.Members[1].Type = "crew.yaml", 7, "no such type"
	_, err := m.Up(t.Context(), f)
	if err == nil || !strings.Contains(err.Error(), "crew.yaml:7: carl of team crew") {
		t.Errorf("the error is %v; want one that says which member", err)
	}
	if diff := cmp.Diff(before, m.roster.Teams()); diff != "" {
		t.Errorf("the teams changed:\n%s", diff)
	}
}

func TestWhatAMemberHadTakenIsOfferedAgain(t *testing.T) {
	m := manage(t)
	up, err := m.Up(t.Context(), crewFile())
	must(t, err)
	list, err := m.boards.Get(t.Context(), "list of "+up.ID)
	must(t, err)
	carl, err := m.roster.Find("carl")
	must(t, err)
	_, err = list.Claim(t.Context(), roster.BoardMember(carl.Record()), "1")
	must(t, err)
	must(t, m.Remove(t.Context(), "crew", "carl"))
	if task, err := list.Get("1"); err != nil || task.Claim != nil {
		t.Errorf("the task is %+v, %v; want it offered again", task, err)
	}
	if !m.IsFinal(carl.ID()) {
		t.Error("carl has not ended for good, although he is in no other team")
	}
	again, err := m.Add(t.Context(), "crew", teamfile.Member{Name: "carl"})
	must(t, err)
	if !slices.Equal(again.New, []string{"carl"}) {
		t.Errorf("new are %s; want another carl", again.New)
	}
}

// A process may die when a member is on disk and its prompt is not: whoever was not told
// the outcome adds the member again.
func TestAMemberWithoutItsPromptGetsItWhenAddedAgain(t *testing.T) {
	m := manage(t)
	_, err := m.Up(t.Context(), teamfile.Team{Name: "crew", Members: []teamfile.Member{{Name: "carl"}}})
	must(t, err)
	for range 3 {
		_, err := m.Add(t.Context(), "crew", teamfile.Member{Name: "carl", Prompt: "go"})
		must(t, err)
		must(t, m.Quiet(t.Context()))
		carl, err := m.roster.Find("carl")
		must(t, err)
		if n := carl.Record().Turns; n != 1 {
			t.Errorf("carl has had %d turns; want the one of its prompt", n)
		}
	}
}

func TestAMemberOfTwoTeamsStaysInTheOther(t *testing.T) {
	m := manage(t)
	_, err := m.Up(t.Context(), crewFile())
	must(t, err)
	_, err = m.Up(t.Context(), teamfile.Team{Name: "others", Members: []teamfile.Member{{Agent: "crew/carl"}}})
	must(t, err)
	must(t, m.Down(t.Context(), "crew"))
	if diff := cmp.Diff([]string{"carl"}, m.names(t, "others")); diff != "" {
		t.Errorf("the members of the other team (-want +got):\n%s", diff)
	}
	for _, gone := range []string{"crew", "helpers"} { // ann led the second, and went with the first
		if _, err := m.Status(t.Context(), gone); !errors.As(err, new(*team.UnknownTeamError)) {
			t.Errorf("team %s: %v; want it gone", gone, err)
		}
	}
	if err := m.Remove(t.Context(), "others", "team-lead"); err == nil || !strings.Contains(err.Error(), "take the whole team down") {
		t.Errorf("the lead leaves: %v", err)
	}
}

func TestTheSessionsOwnTeamStays(t *testing.T) {
	m := manage(t)
	own := m.roster.Teams()[0]
	_, err := m.Add(t.Context(), own.ID, teamfile.Member{Name: "ann"})
	must(t, err)
	must(t, m.Down(t.Context(), own.ID))
	if left, err := m.roster.Team(own.ID); err != nil || len(left.Members) != 0 {
		t.Errorf("the session's own team is %+v, %v; want it without members", left, err)
	}
}
