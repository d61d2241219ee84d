package swarm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
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
			return coordinatortest.Call(id, "SendMessage", map[string]any{"to": to, "message": mark})
		}
		m := modeltest.Each(func(_ context.Context, r *model.Request) (*model.Answer, error) {
			if name := r.Caller.Agent; len(r.Messages) == 1 && strings.HasPrefix(name, "m") {
				next := "m" + string('0'+(name[1]-'0'+1)%members)
				return coordinatortest.Use(say(next, "a"), say("crew/"+next, "b"), say("team-lead", "c"), say("*", "d")), nil
			}
			return coordinatortest.Say("noted"), nil
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
			if _, err := all[i].TeamManager().Up(t.Context(), file); err != nil {
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
			heard := wordsOf(t, s, string(a.Record.Spec.ID))
			// A member has sent it 4 times and received it twice from one, once each from
			// 9.
			if n := strings.Count(heard, "from session "); n != strings.Count(heard, fmt.Sprintf("from session %d.", i)) || n < 4+2+9 {
				t.Errorf("%s of session %d heard another session: %s", agent.DisplayName(a.Record.Spec), i, heard)
			}
		}
		if strings.Contains(wordsOf(t, s, string(agent.LeadID)), "session x.") {
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

// wordsOf is all text that an agent has received and sent.
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
		if r.Caller.Agent == agent.LeadName {
			mu.Lock()
			told = append(told, lastText(r))
			mu.Unlock()
		}
		return coordinatortest.Say("noted"), nil
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{})
	file := swarm.TeamFile{Name: "crew"}
	for i := range members {
		name := fmt.Sprint("m", i)
		file.Members = append(file.Members, swarm.TeamMember{Name: name})
		file.Tasks = append(file.Tasks, swarm.TeamTask{Key: name, Subject: "task of " + name})
	}
	if _, err := s.TeamManager().Up(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if _, err := s.Run(t.Context(), strings.Repeat("word ", 8_000)); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(t.Context(), agent.LeadName); err != nil {
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
	again, err := s.TeamManager().Up(t.Context(), file)
	if err != nil || len(again.New) != 0 || len(again.Tasks) != members || len(s.Agents()) != members+2 {
		t.Errorf("bringing it up again made %v, %d tasks, %d agents, %v", again.New, len(again.Tasks), len(s.Agents()), err)
	}
}

func lastText(r *model.Request) string { return string(r.Messages[len(r.Messages)-1].Raw()) }

// everyState is a model whose agents come to be in the states of their names, and
// stay there.
func everyState(overload, compacting chan struct{}) model.Model {
	stay := func(ctx context.Context) (*model.Answer, error) {
		<-ctx.Done()
		return nil, model.Cancelled(ctx)
	}
	use := func(name string, input map[string]any) (*model.Answer, error) {
		return coordinatortest.Use(coordinatortest.Call("1", name, input)), nil
	}
	return model.NewGovernor(model.GovernorOptions{}).Govern(modeltest.Each(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		first := len(r.Messages) == 1
		switch name := r.Caller.Agent; {
		case name == "thinks", strings.HasPrefix(name, "general-purpose"):
			return stay(ctx)
		case name == "works":
			return use("Bash", map[string]any{"command": "sleep 60"})
		case name == "asks":
			return use("Bash", map[string]any{"command": "touch made"})
		case name == "plans" && first:
			return use("ExitPlanMode", map[string]any{"plan": "p"})
		case name == "parent":
			return use("Agent", map[string]any{"description": "d", "prompt": "p"})
		case name == "starter" && first:
			return use("Agent", map[string]any{"description": "d", "prompt": "p", "run_in_background": true})
		case name == "fails":
			return nil, errors.New("no such model")
		case name == "backs":
			select {
			case <-overload:
			case <-ctx.Done():
			}
			return nil, &model.Error{Kind: model.Overloaded, Status: 529, RetryAfter: time.Minute}
		case name == "compacts" && strings.Contains(lastText(r), "about to be compacted"):
			close(compacting)
			return stay(ctx)
		}
		return coordinatortest.Say("done"), nil
	}))
}

// TestProblem28_TheStateOfEachMemberIsTrue has members in every state that a
// team can show at once, and reads the status of the team: each is shown in time, and what is
// shown was reported by an event.
func TestProblem28_TheStateOfEachMemberIsTrue(t *testing.T) {
	soon := 30 * time.Second
	if os.Getenv("SWARM_SOAK") != "" {
		soon = 2 * time.Second
	}
	overload, compacting := make(chan struct{}), make(chan struct{})
	s := sessionIn(t, t.TempDir(), everyState(overload, compacting), swarm.Options{Attended: true})
	sub := s.Events()
	defer sub.Close()
	want := map[string]string{
		"waits": "idle ", "thinks": "thinking ", "works": "in_tool Bash", "asks": "waiting permission", "plans": "waiting approval",
		"parent": "waiting child", "starter": "waiting mail", "fails": "idle no such model", "backs": "thinking ", "compacts": "idle ",
		"stopped": "idle ", "killed": "idle ",
	}
	file := swarm.TeamFile{Name: "crew"}
	for name := range want {
		m := swarm.TeamMember{Name: name, Prompt: "p", PlanRequired: name == "plans"}
		switch name {
		case "waits", "stopped", "killed":
			m.Prompt = ""
		case "asks":
			m.Mode = "default"
		case "compacts":
			m.Prompt = strings.Repeat("a long story. ", 5_000)
		}
		file.Members = append(file.Members, m)
	}
	_, err := s.TeamManager().Up(t.Context(), file)
	ok(t, err)
	shownSoon(t, s, want, 30*time.Second) // they are made one after the other
	ok(t, errors.Join(s.Stop(t.Context(), "stopped"), s.Kill(t.Context(), "killed")))
	want["stopped"], want["killed"] = "stopped ", "stopped "
	compacted := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { compacted <- s.Compact(ctx, "compacts") }()
	<-compacting
	want["compacts"] = "compacting "
	shownSoon(t, s, want, soon)
	close(overload)
	want["backs"] = "backing_off 529"
	shownSoon(t, s, want, soon)
	cancel()
	<-compacted
	checkTold(t, sub, want)
}

// checkTold fails if an agent is shown in a state that none of its events reports.
func checkTold(t *testing.T, sub *event.Subscription, want map[string]string) {
	t.Helper()
	told := map[string][]string{}
	coordinatortest.Next(t, sub, "what was shown last", func(e event.Event) bool {
		state := ""
		switch f := e.Fact.(type) {
		case event.Started:
			state = "idle"
		case event.StateChanged:
			state = f.To + " " + f.Reason
		case event.CallStarted:
			state = "in_tool " + f.Call.Name
		case event.PlanMoved:
			state = "waiting approval"
		case event.TurnEnded:
			state = "idle " + f.Reason
		case event.BackingOff:
			state = fmt.Sprint("backing_off ", f.Backoff.Status)
		}
		told[e.Agent.Name] = append(told[e.Agent.Name], state)
		if strings.HasPrefix(e.Agent.Name, "general-purpose") { // whose parent has ended its turn
			told["starter"] = append(told["starter"], "waiting mail")
		}
		return strings.HasPrefix(state, "backing_off")
	})
	for name, state := range want {
		if !slices.ContainsFunc(told[name], func(x string) bool { return strings.HasPrefix(x, strings.TrimSpace(state)) }) {
			t.Errorf("%s is shown as %s and no event says so: %q", name, state, told[name])
		}
	}
}

// shownSoon fails unless the team is shown so in time.
func shownSoon(t *testing.T, s *swarm.Session, want map[string]string, limit time.Duration) {
	t.Helper()
	for begun := time.Now(); ; {
		team, err := s.Team(t.Context(), "crew")
		ok(t, err)
		wrong := map[string]string{}
		for _, a := range team.Agents {
			name := a.Record.Spec.Name
			if got := a.State.Name + " " + a.State.Detail; !strings.HasPrefix(got, want[name]) {
				wrong[name] = got
			}
		}
		took := time.Since(begun)
		if len(wrong) == 0 {
			t.Logf("all are shown as they are after %v", took.Round(time.Millisecond))
			return
		}
		if took > limit {
			t.Fatalf("after %v these are shown wrong: %v", took, wrong)
		}
	}
}
