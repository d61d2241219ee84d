package swarm_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/board"
)

// leaving are members that have something with them when they are asked to end:
// commands, a directory, a task; one does not answer and one objects.
func leaving() model.Model {
	sleeps := func(_ context.Context, step int, r *model.Request) *model.Answer {
		if strings.Contains(lastText(r), "asked to end") {
			return coordinatortest.Say("I end")
		}
		return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("s", step), "Bash", map[string]any{"command": "sleep 613"}))
	}
	return coordinatortest.By(coordinatortest.Answers{
		"runner": sleeps, "sleeper": sleeps,
		"hanger": func(ctx context.Context, _ int, _ *model.Request) *model.Answer { <-ctx.Done(); return nil },
		"holder": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(coordinatortest.Call("t", "TaskUpdate", map[string]any{"taskId": "1", "status": "in_progress"}))
			}
			return coordinatortest.Say("mine")
		},
		"objector": func(_ context.Context, step int, r *model.Request) *model.Answer {
			last := lastText(r)
			_, id, asked := strings.Cut(last, "(request ")
			if !asked || !strings.Contains(last, "asked to end your work") {
				return coordinatortest.Say("ok")
			}
			id, _, _ = strings.Cut(id, ")")
			return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("o", step), "SendMessage", map[string]any{"to": "team-lead", "message": map[string]any{
				"type": "shutdown_response", "request_id": id, "approve": false, "reason": "half way",
			}}))
		},
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") },
		agent.LeadName:    func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("ok") },
	})
}

// TestProblem10_NothingIsLeftOfThoseWhoAreGone ends a team whose members have
// commands, a worktree and a task: with them goes all that they had.
func TestProblem10_NothingIsLeftOfThoseWhoAreGone(t *testing.T) {
	cycles := 1
	if os.Getenv("SWARM_SOAK") != "" {
		cycles = 20
	}
	_, repo := checkout(t)
	s := sessionIn(t, repo, leaving(), swarm.Options{Policy: spawn.Policy{MaxAgents: -1, MaxSpawnRate: -1}})
	for range cycles {
		goneTogether(t, s)
	}
}

func goneTogether(t *testing.T, s *swarm.Session) {
	t.Helper()
	sub := s.Events()
	defer sub.Close()
	file := swarm.TeamFile{Name: "crew", Tasks: []swarm.TeamTask{{Key: "t", Subject: "to be had"}}, Members: []swarm.TeamMember{
		{Name: "idle"},
		{Name: "tree", Prompt: "p", Worktree: true},
		{Name: "holder", Prompt: "p"},
		{Name: "runner", Prompt: "p"},
		{Name: "sleeper", Prompt: "p"},
		{Name: "hanger", Prompt: "p"},
		{Name: "objector", Prompt: "p"},
		{Name: "killed"},
	}}
	_, err := s.TeamManager().Up(t.Context(), file)
	ok(t, err)
	ok(t, s.Kill(t.Context(), "killed"))
	left := map[string]bool{"holder": true, "tree": true, "objector": true, "runner": true, "sleeper": true}
	coordinatortest.Next(t, sub, "all are where they are to be", func(e event.Event) bool {
		switch f := e.Fact.(type) {
		case event.TurnEnded:
			delete(left, e.Agent.Name)
		case event.CallStarted:
			if f.Call.Name == "Bash" {
				delete(left, e.Agent.Name)
			}
		}
		return len(left) == 0
	})
	for limit := time.Now().Add(20 * time.Second); processes(t, "sleep 613") < 2; {
		if time.Now().After(limit) {
			t.Fatal("the commands are not there, so nothing is shown by their end")
		}
	}
	status, err := s.Team(t.Context(), "crew")
	ok(t, err)
	if len(status.Tasks) != 1 || status.Tasks[0].Owner != "holder" || status.Tasks[0].Claim == nil {
		t.Fatalf("the task is not had, so nothing is shown by its end: %+v; %s", status.Tasks, conversation(t, s.Info().Path, "holder"))
	}
	var names []string
	for _, m := range file.Members {
		if m.Name != "killed" {
			names = append(names, m.Name)
		}
	}
	begun := time.Now()
	all, err := s.Down(t.Context(), names, 5*time.Second)
	ok(t, err)
	t.Logf("%d members were gone after %v", len(all), time.Since(begun).Round(time.Millisecond))
	for _, d := range all {
		if !d.Gone || (d.Name == "objector") != (d.Objection == "half way") {
			t.Errorf("%+v", d)
		}
	}
	limit := time.Minute // on a loaded machine
	if os.Getenv("SWARM_SOAK") != "" {
		limit = 10 * time.Second
	}
	if took := time.Since(begun); took > limit || len(all) != len(names) {
		t.Errorf("%d of %d were gone after %v", len(all), len(names), took)
	}
	if n := processes(t, "sleep 613"); n != 0 {
		t.Errorf("%d commands are left", n)
	}
	trees, err := swarm.Worktrees(t.Context(), stateOf(s), s.Info().Dir)
	ok(t, err)
	if len(trees) != 0 {
		t.Errorf("directories are left: %+v", trees)
	}
	status, err = s.Team(t.Context(), "crew")
	ok(t, err)
	for _, task := range status.Tasks {
		if task.Status != board.Pending || task.Claim != nil || task.Owner != "" {
			t.Errorf("%+v is still had", task)
		}
	}
	for _, a := range s.Agents() {
		if a.Running {
			t.Errorf("%s runs", agent.DisplayName(a.Record.Spec))
		}
	}
	again, err := s.Down(t.Context(), names, 5*time.Second)
	ok(t, err)
	if len(again) != len(names) {
		t.Errorf("the second time: %+v", again)
	}
	ok(t, s.TeamManager().Down(t.Context(), "crew"))
}
