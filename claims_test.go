package swarm_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/board"
)

// claimants are teammates that take a task each; ann goes on with hers when the
// file "go" is there.
func claimants(state string) model.Model {
	take := func(id string) model.Block {
		return coordinatortest.Call("take"+id, "TaskUpdate", map[string]any{"taskId": id, "status": "in_progress"})
	}
	return coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			switch step {
			case 0:
				return coordinatortest.Use(
					coordinatortest.Call("t1", "TaskCreate", map[string]any{"subject": "one"}),
					coordinatortest.Call("t2", "TaskCreate", map[string]any{"subject": "two"}),
					coordinatortest.Call("t3", "TaskCreate", map[string]any{"subject": "three"}),
				)
			case 1:
				return coordinatortest.Use(coordinatortest.Call("b3", "TaskUpdate", map[string]any{"taskId": "3", "addBlockedBy": []string{"1"}}),
					crowdMate("ben"), crowdMate("ann"))
			}
			return coordinatortest.Say("ok")
		},
		"ann": func(ctx context.Context, step int, _ *model.Request) *model.Answer {
			switch step {
			case 0:
				return coordinatortest.Use(take("1"))
			case 1:
				return coordinatortest.Use(coordinatortest.Call("w", "Bash", map[string]any{
					"command": "until test -e " + filepath.Join(state, "go") + "; do sleep 0.05; done",
				}))
			case 2: // in the next life: the command was cut
				awaitFile(ctx, filepath.Join(state, "go"))
				return coordinatortest.Use(coordinatortest.Call("done", "TaskUpdate", map[string]any{"taskId": "1", "status": "completed"}))
			}
			return coordinatortest.Say("done")
		},
		"ben": func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(take("2"))
			}
			return coordinatortest.Say("I keep it")
		},
	})
}

// awaitFile returns when a file is there, or ctx ends.
func awaitFile(ctx context.Context, path string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// claiming counts the ends of ben's turn and the beginning of ann's command.
func claiming(state string) error {
	return liveOn(state, claimants(state), func(f event.Fact) bool {
		switch f := f.(type) {
		case event.CallStarted:
			return f.Call.Name == "Bash"
		case event.TurnEnded:
			return f.Text == "I keep it"
		}
		return false
	})
}

// TestProblem30_ATakeoverKeepsClaimsAndOffersThoseOfTheGone kills the owner of a
// session in which two agents hold a task. In the next one's hands one agent
// completes its task and frees what waits for it, and the other, shut down
// before anybody has looked at the list, gives its task back at once.
func TestProblem30_ATakeoverKeepsClaimsAndOffersThoseOfTheGone(t *testing.T) {
	state := t.TempDir()
	if n, killed := life(t, "claims", state, 2); !killed {
		t.Fatalf("the owner was not killed; it counted %d", n)
	}
	s := sessionIn(t, state, claimants(state), swarm.Options{StateDir: state, Home: state, Session: crowdSession})
	d, err := s.Shutdown(t.Context(), "ben", 0)
	ok(t, err)
	if !d.Gone {
		t.Fatalf("ben: %+v", d)
	}
	byID := func() map[board.ID]board.Task {
		all, err := s.Tasks(t.Context())
		ok(t, err)
		by := map[board.ID]board.Task{}
		for _, task := range all {
			by[task.ID] = task
		}
		return by
	}
	tasks := byID()
	if one := tasks["1"]; one.Status != board.InProgress || one.Owner != "ann" || one.Claim == nil {
		t.Errorf("after the takeover ann's task is %+v", one)
	}
	if two := tasks["2"]; two.Status != board.Pending || two.Owner != "" || two.Claim != nil {
		t.Errorf("the task of the one that is gone is %+v", two)
	}
	if three := tasks["3"]; len(three.BlockedBy) != 1 {
		t.Errorf("what waits is %+v", three)
	}
	ok(t, os.WriteFile(filepath.Join(state, "go"), nil, 0o600))
	_, err = s.Resume(t.Context())
	ok(t, err)
	ok(t, s.Quiet(t.Context()))
	tasks = byID()
	if one := tasks["1"]; one.Status != board.Completed {
		t.Errorf("ann could not complete her task: %+v", one)
	}
	if three := tasks["3"]; len(three.BlockedBy) != 0 {
		t.Errorf("what waited is not freed: %+v", three)
	}
}
