package swarm_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

func state(t *testing.T, s *swarm.Session, name string) actors.Status {
	t.Helper()
	for _, a := range s.Agents() {
		if agent.DisplayName(a.Record.Spec) == name {
			return a
		}
	}
	t.Fatalf("there is no agent %s", name)
	return actors.Status{}
}

// hangs answers when the test lets it, or not at all.
func hangs(begun chan<- string, name string) func(context.Context, int, *model.Request) *model.Answer {
	return func(ctx context.Context, _ int, _ *model.Request) *model.Answer {
		begun <- name
		<-ctx.Done()
		return nil
	}
}

func task(id, name string, more map[string]any) model.Block {
	input := map[string]any{"description": "d", "prompt": "p"}
	if name != "" {
		input["name"] = name
	}
	for k, v := range more {
		input[k] = v
	}
	return coordinatortest.Spawn(id, input)
}

// An interrupt is for the foreground turn: a background agent and a teammate go
// on, however often it comes, and the lead answers the next text.
func TestAnInterruptEndsTheForegroundTurnAndNoBackgroundAgent(t *testing.T) {
	begun := make(chan string, 8)
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(
					task("1", "", map[string]any{"subagent_type": "general-purpose"}),
					task("2", "", map[string]any{"subagent_type": "Explore", "run_in_background": true}),
					task("3", "bob", nil))
			}
			return coordinatortest.Say("heard: " + r.Messages[len(r.Messages)-1].Text())
		},
		"general-purpose": hangs(begun, "front"), "Explore": hangs(begun, "back"), "bob": hangs(begun, "bob"),
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	if s.Interrupt() {
		t.Error("there was a turn before the first text")
	}
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-begun
	}
	if !s.Interrupt() {
		t.Error("there was no turn to end")
	}
	coordinatortest.Next(t, sub, "the end of the lead's turn", coordinatortest.TurnEnd(agent.LeadName))
	for range 2 {
		coordinatortest.Eventually(t, "the lead rests", func() bool { return !state(t, s, agent.LeadName).Running })
		if s.Interrupt() {
			t.Error("a lead at rest was interrupted")
		}
	}
	for _, a := range s.Agents() {
		spec := a.Record.Spec
		switch {
		case spec.Type == "Explore" || spec.Name == "bob":
			if !a.Running || a.Record.Closed {
				t.Errorf("%s does not go on: %+v", spec.ID, a.State)
			}
		case spec.Type == "general-purpose":
			if a.Running || a.Record.Outcome != "interrupted" {
				t.Errorf("the foreground agent is %+v, %s", a.State, a.Record.Outcome)
			}
		}
	}
	if err := s.Say("and now?"); err != nil {
		t.Fatal(err)
	}
	e := coordinatortest.Next(t, sub, "the answer", coordinatortest.TurnEnd(agent.LeadName))
	if text := e.Fact.(event.TurnEnded).Text; !strings.Contains(text, "and now?") {
		t.Errorf("the lead said %q", text)
	}
	x, err := s.LastExchange()
	if err != nil || x.Prompt != "and now?" || !strings.HasPrefix(x.Answer, "heard: ") {
		t.Errorf("the last exchange is %+v, %v", x, err)
	}
}

// What the lead waits for is moved; the lead goes on and reads a text that came
// meanwhile.
func TestTheForegroundMovesToTheBackgroundAndTheLeadGoesOn(t *testing.T) {
	begun := make(chan string, 8)
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(task("1", "", map[string]any{"subagent_type": "general-purpose"}),
					task("2", "", map[string]any{"subagent_type": "Explore"}))
			}
			return coordinatortest.Say("heard: " + r.Messages[len(r.Messages)-1].Text())
		},
		"general-purpose": hangs(begun, "one"), "Explore": hangs(begun, "two"),
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	<-begun
	<-begun
	if err := s.Say("hurry"); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "the text has arrived", func() bool {
		return slices.ContainsFunc(s.Agents(), func(a actors.Status) bool { return a.Record.Spec.ID == agent.LeadID && a.Unread == 1 })
	})
	if moved := s.BackgroundForeground(); len(moved) != 2 {
		t.Errorf("moved: %v", moved)
	}
	e := coordinatortest.Next(t, sub, "the end of the lead's turn", coordinatortest.TurnEnd(agent.LeadName))
	if text := e.Fact.(event.TurnEnded).Text; !strings.Contains(text, "hurry") {
		t.Errorf("the lead said %q", text)
	}
	for _, a := range s.Agents() {
		if spec := a.Record.Spec; spec.Parent == agent.LeadID && (spec.Role != "background" || !a.Running) {
			t.Errorf("%s is %s and %+v", spec.ID, spec.Role, a.State)
		}
	}
	if moved := s.BackgroundForeground(); len(moved) != 0 {
		t.Errorf("moved again: %v", moved)
	}
}

// The running command of the lead goes on with its output; its call returns.
func TestTheLeadsCommandMovesToTheBackground(t *testing.T) {
	dir := t.TempDir()
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(coordinatortest.Call("1", "Bash", map[string]any{"command": "echo before; mkfifo hold; read -r line < hold; echo after"}))
			}
			return coordinatortest.Say("done")
		},
	})
	s := sessionIn(t, dir, m, swarm.Options{})
	sub := s.Events()
	defer sub.Close()
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Next(t, sub, "the command", func(e event.Event) bool { _, ok := e.Fact.(event.CallStarted); return ok })
	var moved []string
	for len(moved) == 0 { // the call is reported before its process runs
		moved = s.BackgroundForeground()
	}
	e := coordinatortest.Next(t, sub, "the call's end", func(e event.Event) bool { _, ok := e.Fact.(event.CallFinished); return ok })
	if f := e.Fact.(event.CallFinished); f.IsError || !strings.Contains(f.Text, moved[0]) {
		t.Errorf("the call returned %q", f.Text)
	}
	coordinatortest.Next(t, sub, "the end of the turn", coordinatortest.TurnEnd(agent.LeadName))
}

// A model that is chosen in mid-session is asked from the next turn on, and kept.
func TestTheLeadsModelCanBeChanged(t *testing.T) {
	var asked []string
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, _ int, r *model.Request) *model.Answer {
			asked = append(asked, r.Model)
			return coordinatortest.Say("done")
		},
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{Model: "small"})
	sub := s.Events()
	defer sub.Close()
	for i, text := range []string{"one", "two", "three"} {
		if i == 1 {
			if err := s.SetModel("large"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Say(text); err != nil {
			t.Fatal(err)
		}
		coordinatortest.Next(t, sub, "the answer", coordinatortest.TurnEnd(agent.LeadName))
	}
	if want := []string{"small", "large", "large"}; !slices.Equal(asked, want) {
		t.Errorf("asked: %v, want %v", asked, want)
	}
	if kept := s.Info().Model; kept != "large" {
		t.Errorf("kept: %s", kept)
	}
}

// A text for a lead that was stopped wakes it, and one for a lead that was
// killed is refused, with what is left to do.
func TestATextWakesAStoppedLead(t *testing.T) {
	s := session(t, map[string]model.Model{"": coordinatortest.By(coordinatortest.Answers{agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("fine") }})}, swarm.Options{})
	run(t, s, "go")
	for _, say := range []func() error{
		func() error { return s.Say("again") },
		func() error { _, err := s.Run(t.Context(), "again"); return err },
	} {
		if err := s.Stop(t.Context(), agent.LeadName); err != nil {
			t.Fatal(err)
		}
		turns := state(t, s, agent.LeadName).Record.Turns
		if err := say(); err != nil {
			t.Fatal(err)
		}
		if err := s.Quiet(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l := state(t, s, agent.LeadName).Record; l.Turns != turns+1 || l.Result != "fine" {
			t.Errorf("%d turns after %d, the last said %q", l.Turns, turns, l.Result)
		}
	}
	if err := s.Kill(t.Context(), agent.LeadName); err != nil {
		t.Fatal(err)
	}
	if err := s.Say("again"); err == nil || !strings.Contains(err.Error(), "the lead has ended for good (ended by the user)") {
		t.Errorf("a killed lead: %v", err)
	}
}
