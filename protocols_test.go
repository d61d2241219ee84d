package swarm_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/board"
)

// The protocols of a team, with its task list, hold on every server that can carry
// a session: its own, one of others that is killed meanwhile, and a cluster of three
// that loses a node. On the wire in memory they are tested in team.
func TestTheProtocolsHoldOnTheEmbeddedServer(t *testing.T) {
	protocolsHold(t, swarm.NATS{}, func() {})
}

func TestTheProtocolsHoldOnAnOutsideServer(t *testing.T) {
	server := natsdtest.Start(t, natsdtest.Options{})
	protocolsHold(t, swarm.NATS{URL: server.URL}, func() {
		server.Kill()
		server.Restart()
	})
}

func TestTheProtocolsHoldOnACluster(t *testing.T) {
	servers := natsdtest.Cluster(t, 3, natsdtest.Options{})
	protocolsHold(t, swarm.NATS{URL: servers[0].URL + "," + servers[1].URL + "," + servers[2].URL, Replicas: 3}, func() {
		servers[0].Kill()
	})
}

var shutdownID = regexp.MustCompile(`asked to end your work \(request (q[0-9a-f]+)\)`)

// crewWork is ann, who plans, ben, who objects to his end once, and two who race
// for a task.
func crewWork() model.Model {
	say := func(id string, to string, message any) model.Block {
		return coordinatortest.Call(id, "SendMessage", map[string]any{"to": to, "message": message})
	}
	racer := func(_ context.Context, step int, r *model.Request) *model.Answer {
		if strings.Contains(lastText(r), "race") {
			return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("r", step), "TaskUpdate", map[string]any{"taskId": "1", "status": "in_progress"}))
		}
		return coordinatortest.Say("ok")
	}
	return coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if strings.Contains(lastText(r), "begin now") {
				return coordinatortest.Use(say(fmt.Sprint("s", step), "*", "hear ye"))
			}
			return coordinatortest.Say("noted")
		},
		"ann": func(_ context.Context, step int, r *model.Request) *model.Answer {
			switch last := lastText(r); {
			case strings.Contains(last, "plan it"), strings.Contains(last, "is not approved"):
				return coordinatortest.Use(coordinatortest.Call(fmt.Sprint("p", step), "ExitPlanMode", map[string]any{"plan": fmt.Sprint("plan ", step)}))
			case strings.Contains(last, "is approved: go ahead"):
				return coordinatortest.Say("gone ahead")
			}
			return coordinatortest.Say("ok")
		},
		"ben": func(_ context.Context, step int, r *model.Request) *model.Answer {
			if id := shutdownID.FindStringSubmatch(lastText(r)); id != nil {
				return coordinatortest.Use(say(fmt.Sprint("o", step), "team-lead", map[string]any{
					"type": "shutdown_response", "request_id": id[1], "approve": false, "reason": "half way",
				}))
			}
			return coordinatortest.Say("ok")
		},
		"cat": racer, "dan": racer,
	})
}

func protocolsHold(t *testing.T, server swarm.NATS, disturb func()) {
	dir, state := t.TempDir(), t.TempDir()
	open := func(id string) *swarm.Session {
		s := sessionIn(t, dir, crewWork(), swarm.Options{StateDir: state, Home: state, Session: id, NATS: server, Attended: true})
		ok(t, s.Begin())
		awaitBus(t, s)
		return s
	}
	quiet := func(s *swarm.Session) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ok(t, s.Quiet(ctx))
	}
	s := open("")
	_, err := s.TeamManager().Up(t.Context(), swarm.TeamFile{Name: "crew", Members: []swarm.TeamMember{
		{Name: "ann", Prompt: "plan it", PlanRequired: true}, {Name: "ben", Prompt: "wait"}, {Name: "cat", Prompt: "wait"}, {Name: "dan", Prompt: "wait"},
	}, Tasks: []swarm.TeamTask{{Subject: "one"}}})
	ok(t, err)
	first := pendingPlan(t, s, "")
	disturb()
	ok(t, s.Say("begin now"))
	ok(t, s.Answer(first, swarm.Answer{Note: "smaller"}))
	second := pendingPlan(t, s, first)
	heard := func(name string) int { return strings.Count(wordsOf(t, s, idOf(t, s, name)), `\nhear ye\n`) }
	coordinatortest.Eventually(t, "all have heard", func() bool {
		return heard("ann") > 0 && heard("ben") > 0 && heard("cat") > 0 && heard("dan") > 0
	})
	_, err = s.Send("*", "race")
	ok(t, err)
	coordinatortest.Eventually(t, "the task is taken", func() bool { return oneTask(t, s).Owner != "" })
	coordinatortest.Eventually(t, "all rest", func() bool { return rest(s, 0) })
	for _, name := range []string{"ann", "ben", "cat", "dan"} {
		if n := heard(name); n != 1 {
			t.Errorf("%s heard the broadcast %d times", name, n)
		}
	}
	claimed := oneTask(t, s)
	if claimed.Status != board.InProgress || claimed.Owner != "cat" && claimed.Owner != "dan" {
		t.Errorf("the task that two raced for is %+v", claimed)
	}
	ok(t, s.Close())

	s = open(s.ID())
	if again := oneTask(t, s); again.Owner != claimed.Owner || again.Status != claimed.Status {
		t.Errorf("after the restart the task is %+v, before it was %+v", again, claimed)
	}
	if id := pendingPlan(t, s, first); id != second {
		t.Errorf("after the restart the plan %s waits, before it was %s", id, second)
	}
	if err := s.Answer(first, swarm.Answer{Allow: true}); err == nil {
		t.Error("a plan that was rejected is approved")
	}
	ok(t, s.Answer(second, swarm.Answer{Allow: true}))
	quiet(s)
	if words := wordsOf(t, s, idOf(t, s, "ann")); strings.Count(words, `is approved: go ahead`) != 1 || !strings.Contains(words, "gone ahead") {
		t.Errorf("ann heard %s", words)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := s.Shutdown(ctx, "ben", 20*time.Second)
	if err != nil || d.Gone || d.Objection != "half way" {
		t.Errorf("the first request to ben: %+v, %v", d, err)
	}
	if d, err = s.Shutdown(ctx, "ben", 20*time.Second); err != nil || !d.Gone {
		t.Errorf("the second request to ben: %+v, %v", d, err)
	}
	if _, err := s.Send("ben", "hello"); !errors.As(err, new(*actors.FinalError)) {
		t.Errorf("a letter to ben: %v", err)
	}
	if d, err := s.Shutdown(ctx, claimed.Owner, 0); err != nil || !d.Gone {
		t.Errorf("%s: %+v, %v", claimed.Owner, d, err)
	}
	if free := oneTask(t, s); free.Status != board.Pending || free.Owner != "" {
		t.Errorf("the task of one that is gone is %+v", free)
	}
}

func oneTask(t *testing.T, s *swarm.Session) board.Task {
	t.Helper()
	crew, err := s.Team(t.Context(), "crew")
	if err != nil || len(crew.Tasks) != 1 {
		t.Fatalf("the tasks are %+v, %v", crew.Tasks, err)
	}
	return crew.Tasks[0]
}

func idOf(t *testing.T, s *swarm.Session, name string) string {
	t.Helper()
	for _, a := range s.Agents() {
		if a.Record.Spec.Name == name {
			return string(a.Record.Spec.ID)
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}
