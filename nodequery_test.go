package swarm

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/mailbox"
)

// TestTheOwnerShowsWhatIsInOtherProcesses: agents below a teammate in a process of
// its own, their mail, and what became of it, while the session runs, while the
// process is gone, and when nothing runs.
func TestTheOwnerShowsWhatIsInOtherProcesses(t *testing.T) {
	s, ben := apartWith(t, "", `  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {description: dig, prompt: dig, run_in_background: true}}]}
  - when: {agent: ben, text: 'found gold'}
    say: {text: gold}
  - when: {agent: general-purpose, text: '^dig'}
    say: {text: found gold}
  - say: {text: ok}
`, nil)
	child := func(all []actors.Status) actors.Status {
		for _, a := range all {
			if a.Record.Spec.Parent == ben.ID() {
				return a
			}
		}
		return actors.Status{}
	}
	coordinatortest.Eventually(t, "the child has ended and was heard of", func() bool {
		return child(s.Agents()).Record.Result == "found gold" && ben.Record().Result == "gold" && !ben.Record().TurnOpen
	})
	kid := child(s.Agents()).Record.Spec.ID
	see := func(what string, agents []actors.Status, inbox func(string) ([]Trace, error), message func(mailbox.ID) (Trace, error)) {
		t.Helper()
		if child(agents).Record.Spec.ID != kid {
			t.Errorf("%s: the child is not shown: %+v", what, agents)
		}
		mail, err := inbox("ben")
		if err != nil || len(mail) != 2 || mail[0].Envelope.Body != "begin" || !strings.HasPrefix(mail[1].Envelope.Body, "found gold") {
			t.Fatalf("%s: ben has %+v, %v", what, mail, err)
		}
		if _, err := inbox(string(kid)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, m := range mail { // one from here, one from there
			got, err := message(m.Envelope.ID)
			if err != nil || !slices.ContainsFunc(got.Steps, func(x mailbox.Step) bool { return x.State == mailbox.StateRead && !x.Time.IsZero() }) {
				t.Errorf("%s: of %s is known %+v, %v", what, m.Envelope.ID, got.Steps, err)
			}
		}
		last, err := inbox("lead")
		if err != nil || len(last) == 0 {
			t.Fatalf("%s: the lead has %+v, %v", what, last, err)
		}
		if got, err := message(last[len(last)-1].Envelope.ID); err != nil || got.Envelope.From.Agent != ben.ID() {
			t.Errorf("%s: the message to the lead: %+v, %v", what, got, err)
		}
	}
	see("running", s.Agents(), s.Inbox, s.Message)
	process := s.fleet.Process(ben.ID())
	if err := s.Stop(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	see("its process gone", s.Agents(), s.Inbox, s.Message)
	info := s.Info()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := Look(info.StateDir(), info)
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	all, err := rest.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	see("at rest", all, func(name string) ([]Trace, error) { return rest.Inbox(t.Context(), name) },
		func(id mailbox.ID) (Trace, error) { return rest.Message(t.Context(), id) })
}

// TestAnAgentBelowATeammateApartIsEndedFromTheOwner like every other.
func TestAnAgentBelowATeammateApartIsEndedFromTheOwner(t *testing.T) {
	s, ben := apartWith(t, "", `  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {description: dig, prompt: dig, run_in_background: true}}]}
  - when: {agent: general-purpose}
    say: {stall: true}
  - when: {agent: lead, step: 1}
    say: {text: wait}
  - say: {text: ok}
`, func(o *Options) { o.Policy.Attended = true })
	child := func() (a actors.Status) {
		for _, x := range s.Agents() {
			if x.Record.Spec.Parent == ben.ID() {
				a = x
			}
		}
		return a
	}
	coordinatortest.Eventually(t, "the child works", func() bool { return child().Running })
	ended, err := s.StopTree(t.Context(), string(child().Record.Spec.ID))
	if err != nil || len(ended) != 1 || ended[0].State != "stopped" {
		t.Errorf("%+v, %v", ended, err)
	}
	coordinatortest.Eventually(t, "the child has ended", func() bool { return child().Record.Closed })
	if l := ben.Record(); l.Closed {
		t.Errorf("the teammate ended with it: %+v", l)
	}
	if _, err := s.StopTree(t.Context(), "nobody"); err == nil {
		t.Error("nobody was stopped")
	}
}

// TestAnAgentBelowATeammateApartIsWrittenTo from the owner like every other: by its
// name, team/name or id, by the user and by the lead, with all others, and when it
// has ended.
func TestAnAgentBelowATeammateApartIsWrittenTo(t *testing.T) {
	s, ben := apartWith(t, "", `  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {name: kid, description: dig, prompt: dig}}]}
  - when: {agent: lead, text: 'write to kid'}
    say: {calls: [{tool: SendMessage, input: {to: ben/kid, message: from above}}]}
  - when: {agent: kid, mail: from above}
    say: {text: heard from above}
  - when: {agent: kid}
    say: {text: 'heard {{.Last}}'}
  - say: {text: ok}
`, nil)
	kid := func() (a actors.Status) {
		for _, x := range s.Agents() {
			if x.Record.Spec.Name == "kid" {
				a = x
			}
		}
		return a
	}
	coordinatortest.Eventually(t, "the kid rests", func() bool { return kid().Record.Outcome == agent.Completed })
	heard := func(what string) {
		t.Helper()
		coordinatortest.Eventually(t, what, func() bool { a := kid(); return a.Record.Result == "heard "+what && !a.Record.TurnOpen })
	}
	write := func(to, text string) {
		t.Helper()
		posted, err := s.Send(to, text)
		if err != nil || len(posted) == 0 {
			t.Fatalf("to %s: %+v, %v", to, posted, err)
		}
		heard(text)
	}
	write("kid", "by name")
	write("ben/Kid", "by team")
	write(string(kid().Record.Spec.ID), "by id")
	write("*", "everybody")
	if err := s.Say("write to kid"); err != nil {
		t.Fatal(err)
	}
	heard("from above")
	if err := s.Stop(t.Context(), "ben/kid"); err != nil {
		t.Fatal(err)
	}
	write("kid", "again")
	if a, err := s.Agent("kid"); err != nil || a.Record.Result != "heard again" {
		t.Errorf("%+v, %v", a.Record, err)
	}
	if _, err := s.Send("kind", "x"); err == nil || !strings.Contains(err.Error(), "did you mean kid") {
		t.Error(err)
	}
	if err := s.Kill(t.Context(), "kid"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send("kid", "x"); err == nil || !strings.Contains(err.Error(), "cannot be woken again") {
		t.Error(err)
	}
	process := s.fleet.Process(ben.ID())
	if err := s.Stop(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	for _, do := range []func() error{
		func() error { _, err := s.Send("kid", "x"); return err },
		func() error { return s.Stop(t.Context(), "kid") },
		func() error { return s.Compact(t.Context(), "kid") },
	} {
		if err := do(); !errors.As(err, new(*NoProcessError)) {
			t.Error(err)
		}
	}
}

// TestAnAgentBelowATeammateApartEndsWithItsShutdown and is shown so.
func TestAnAgentBelowATeammateApartEndsWithItsShutdown(t *testing.T) {
	s, ben := apartWith(t, "", `  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {name: kid, description: dig, prompt: dig}}]}
  - say: {text: ok}
`, nil)
	kid := func() (l agent.Record) {
		for _, a := range s.Agents() {
			if a.Record.Spec.Parent == ben.ID() {
				l = a.Record
			}
		}
		return l
	}
	coordinatortest.Eventually(t, "the kid rests", func() bool { return kid().Outcome == agent.Completed })
	if gone, err := s.Down(t.Context(), []string{"ben"}, 5*time.Second); err != nil || len(gone) != 1 || !gone[0].Gone {
		t.Fatalf("%+v, %v", gone, err)
	}
	if l := kid(); !l.Closed {
		t.Errorf("%+v", l)
	}
}
