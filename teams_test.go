package swarm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/actorstest"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/nats-io/nats.go"
)

// TestProblem33_TeamsOfOneNameDoNotHearEachOther has 20 sessions in one
// directory, each with a team of the same name and 10 members of the same names,
// and a program outside that tries its key where it does not belong.
func TestProblem33_TeamsOfOneNameDoNotHearEachOther(t *testing.T) {
	const sessions, members = 20, 10
	dir, state := t.TempDir(), t.TempDir()
	file := swarm.TeamFile{Name: "crew"}
	for i := range members {
		file.Members = append(file.Members, swarm.TeamMember{Name: fmt.Sprint("m", i), Prompt: "begin"})
	}
	open := func(i int) *swarm.Session {
		mark := fmt.Sprintf("from session %d.", i)
		say := func(to, id string) model.Block {
			return actorstest.Call(id, "SendMessage", map[string]any{"to": to, "message": mark})
		}
		m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
			if name := r.Caller.Agent; len(r.Messages) == 1 && strings.HasPrefix(name, "m") {
				next := "m" + string('0'+(name[1]-'0'+1)%members)
				return actorstest.Use(say(next, "a"), say("crew/"+next, "b"), say("team-lead", "c"), say("*", "d")), nil
			}
			return actorstest.Say("noted"), nil
		})
		s, err := swarm.Open(t.Context(), swarm.Options{
			Dir: dir, StateDir: state, Home: state, Mode: "bypassPermissions", NewSession: fmt.Sprint("s", i),
			Getenv: func(string) string { return "" }, Listen: "127.0.0.1:0",
			Models: func(name string) (model.Model, string, error) { return m, name, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	all := make([]*swarm.Session, sessions)
	ids := map[string]bool{}
	var work sync.WaitGroup
	for i := range all {
		all[i] = open(i)
		work.Go(func() {
			if _, err := all[i].TeamUp(t.Context(), file); err != nil {
				t.Error(err)
			}
			if err := all[i].Quiet(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	peers := make([]*peer, sessions)
	for i, s := range all {
		awaitBus(t, s)
		peers[i] = joined(t, s, "eve")
	}
	for i, p := range peers {
		p.intrude(peers[(i+1)%sessions])
	}
	for _, s := range all {
		ok(t, s.Quiet(t.Context()))
	}
	for i, s := range all {
		team, err := s.Team(t.Context(), "crew")
		if err != nil {
			t.Fatal(err)
		}
		if ids[team.ID] {
			t.Errorf("two teams have the id %s", team.ID)
		}
		ids[team.ID] = true
		if len(team.Members) != members {
			t.Errorf("session %d has %d members", i, len(team.Members))
		}
		for _, a := range team.Agents {
			heard := wordsOf(t, s, string(a.Life.Spec.ID))
			// A member said it 4 times and heard it twice from one, once each from 9.
			if n := strings.Count(heard, "from session "); n != strings.Count(heard, fmt.Sprintf("from session %d.", i)) || n < 4+2+9 {
				t.Errorf("%s of session %d heard another session: %s", actors.DisplayName(a.Life.Spec), i, heard)
			}
		}
		if strings.Contains(wordsOf(t, s, string(actors.LeadID)), "session x.") {
			t.Errorf("the lead of session %d heard a program of another", i)
		}
	}
}

// intrude tries a key at the server of another session of the same names, and the
// other's subjects at its own.
func (p *peer) intrude(other *peer) {
	p.t.Helper()
	option, err := nats.NkeyOptionFromSeed(p.key)
	ok(p.t, err)
	if conn, err := nats.Connect(other.c.URL, option, nats.CustomInboxPrefix(other.c.Inbox())); err == nil {
		conn.Close()
		p.t.Errorf("the key of %s opens %s", p.c.Subject(""), other.c.Subject(""))
	} else if !errors.Is(err, nats.ErrAuthorization) {
		p.t.Errorf("another session's key: %v", err)
	}
	for _, subject := range []string{other.c.Subject("send"), other.c.Subject("read"), strings.Replace(other.c.Mail(), "eve", "lead", 1)} {
		ok(p.t, p.conn.Publish(subject, []byte(`{"to":"lead","text":"from session x."}`)))
		select {
		case err := <-p.errs:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				p.t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(20 * time.Second):
			p.t.Errorf("%s: no error", subject)
		}
	}
}

// wordsOf is all that an agent was told and said.
func wordsOf(t *testing.T, s *swarm.Session, id string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.Info().Path, "transcripts", id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestProblem19_AfterACompactionTheLeadKnowsItsTeam forces three compactions on
// the lead of 8 members with tasks.
func TestProblem19_AfterACompactionTheLeadKnowsItsTeam(t *testing.T) {
	const members = 8
	var mu sync.Mutex
	var told []string
	m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
		if r.Caller.Agent == actors.LeadName {
			mu.Lock()
			told = append(told, lastText(r))
			mu.Unlock()
		}
		return actorstest.Say("noted"), nil
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{})
	file := swarm.TeamFile{Name: "crew"}
	for i := range members {
		name := fmt.Sprint("m", i)
		file.Members = append(file.Members, swarm.TeamMember{Name: name})
		file.Tasks = append(file.Tasks, swarm.TeamTask{Key: name, Subject: "task of " + name})
	}
	if _, err := s.TeamUp(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if _, err := s.Run(t.Context(), strings.Repeat("word ", 8_000)); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(t.Context(), actors.LeadName); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		got := told[len(told)-1]
		mu.Unlock()
		for i := range members {
			name := fmt.Sprint("m", i)
			if strings.Count(got, "- "+name+" (id ") != 1 || strings.Count(got, "task of "+name) != 1 {
				t.Errorf("round %d: %s or its task is not told of once: %s", round, name, got)
			}
		}
		if strings.Count(got, "): idle") != members || !strings.Contains(got, "Unread messages to you: 0") || !strings.Contains(got, "team crew") {
			t.Errorf("round %d: states, mail or the team are missing: %s", round, got)
		}
	}
	again, err := s.TeamUp(t.Context(), file)
	if err != nil || len(again.New) != 0 || len(again.Tasks) != members || len(s.Agents()) != members+2 {
		t.Errorf("bringing it up again made %v, %d tasks, %d agents, %v", again.New, len(again.Tasks), len(s.Agents()), err)
	}
}

func lastText(r *model.Request) string { return string(r.Messages[len(r.Messages)-1].Raw()) }

// TestProblem28_TheStateOfEachMemberIsTrue has members in every state that a
// team can show at once, and looks at the team.
func TestProblem28_TheStateOfEachMemberIsTrue(t *testing.T) {
	begun := make(chan string, 3)
	m := modeltest.Each(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		switch r.Caller.Agent {
		case "thinks":
			begun <- "thinks"
			<-ctx.Done()
			return nil, model.Cancelled(ctx)
		case "works":
			return actorstest.Use(actorstest.Call("1", "Bash", map[string]any{"command": "sleep 60"})), nil
		case "fails":
			return nil, errors.New("no such model")
		}
		return actorstest.Say("done"), nil
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	file := swarm.TeamFile{Name: "crew", Members: []swarm.TeamMember{
		{Name: "waits"}, {Name: "thinks", Prompt: "p"}, {Name: "works", Prompt: "p"}, {Name: "fails", Prompt: "p"}, {Name: "stopped"}, {Name: "killed"},
	}}
	if _, err := s.TeamUp(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	<-begun
	left := map[string]bool{"works": true, "fails": true}
	actorstest.Next(t, sub, "a command and a failure", func(e event.Event) bool {
		switch e.Fact.(type) {
		case event.CallStarted, event.TurnEnded:
			delete(left, e.Agent.Name)
		}
		return len(left) == 0
	})
	if err := errors.Join(s.Stop(t.Context(), "stopped"), s.Kill(t.Context(), "killed")); err != nil {
		t.Fatal(err)
	}
	team, err := s.Team(t.Context(), "crew")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"waits": "idle", "thinks": "thinking", "works": "in_tool Bash", "fails": "idle", "stopped": "stopped", "killed": "stopped",
	}
	for _, a := range team.Agents[1:] {
		name := a.Life.Spec.Name
		if got := a.State.Name + " " + a.State.Detail; !strings.HasPrefix(got, want[name]) {
			t.Errorf("%s is %q, want %s", name, got, want[name])
		}
		if name == "fails" && !strings.Contains(a.State.Detail, "no such model") {
			t.Errorf("why %s failed is not told: %+v", name, a.State)
		}
	}
}
