package swarm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// crews has two teammates in processes of their own, with an agent below each; all
// write what the user asks for.
const crews = `  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: begin}}, {tool: Agent, input: {name: ann, description: d, prompt: begin}}]}
  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {name: digger, description: d, prompt: begin}}]}
  - when: {agent: ann, step: 0}
    say: {calls: [{tool: Agent, input: {name: smith, description: d, prompt: begin}}, {tool: Agent, input: {description: mole, prompt: begin, run_in_background: true}}]}
  - when: {agent: '*', text: '#look around'}
    say: {calls: [{tool: ListAgents, input: {}}]}
  - when: {agent: '*', text: '#write to '}
    say: {calls: [{tool: SendMessage, input: {to: '{{regex "write to ([^ ]+)" .Last | join ""}}', message: '{{regex "saying ([a-z0-9]+)" .Last | join ""}}'}}]}
  - say: {text: '{{count (results "*")}} calls, the last: {{results "*" | tail 1 | join ""}}'}
`

// crew is a session with crews.
type crew struct {
	*Session
	calls map[string]int // that each has made
}

// crewed opens a session with crews in which all rest.
func crewed(t *testing.T) crew {
	t.Helper()
	s := crew{apart(t, "", crews, nil), map[string]int{"team-lead": 2, "ben": 1, "ann": 2}}
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ben", "ann", "digger", "smith"} {
		coordinatortest.Eventually(t, name+" rests", func() bool { return lifeOf(s.Session, name).Outcome == agent.Completed })
	}
	return s
}

func lifeOf(s *Session, name string) agent.Record {
	a, err := s.Agent(name)
	if err != nil {
		return agent.Record{}
	}
	return a.Record
}

// says makes an agent call a tool and returns the result.
func (c crew) says(t *testing.T, name, text string) (said string) {
	t.Helper()
	if _, err := c.Send(name, text); err != nil {
		t.Fatal(err)
	}
	c.calls[name]++
	coordinatortest.Eventually(t, name+" has done: "+text, func() bool {
		said = lifeOf(c.Session, name).Result
		return strings.HasPrefix(said, fmt.Sprint(c.calls[name], " calls"))
	})
	return said
}

// TestAgentsBelowTeammatesApartWriteToEachOther, to those above and to all, wherever
// any of them runs, by whatever they are called.
func TestAgentsBelowTeammatesApartWriteToEachOther(t *testing.T) {
	t.Parallel()
	s := crewed(t)
	for i, c := range [][3]string{
		{"digger", "smith", "smith"},
		{"digger", "ann/smith", "smith"},
		{"digger", string(lifeOf(s.Session, "smith").Spec.ID), "smith"},
		{"smith", "digger", "digger"},
		{"digger", "ann", "ann"},
		{"digger", "main", "team-lead"},
		{"digger", "team-lead", "ben"},
		{"ben", "smith", "smith"},
		{"team-lead", string(lifeOf(s.Session, "digger").Spec.ID), "digger"},
	} {
		word := "word" + string(rune('a'+i))
		if said := s.says(t, c[0], "#write to "+c[1]+" saying "+word); !strings.Contains(said, "queued for") {
			t.Fatalf("%s to %s: %s", c[0], c[1], said)
		}
		awaitRead(t, s.Session, c[2], c[0], word)
	}
}

// awaitRead waits until an agent has read a message.
func awaitRead(t *testing.T, s *Session, name, from, text string) {
	t.Helper()
	coordinatortest.Eventually(t, name+" reads "+text+" of "+from, func() bool {
		mail, err := s.Inbox(name)
		return err == nil && slices.ContainsFunc(mail, func(m Trace) bool {
			return m.Envelope.Body == text && m.Envelope.FromName == from && !m.Unread()
		})
	})
}

// TestEverybodyIsEverywhere: a message to all reaches those in every process, each
// agent sees all others, and what cannot be is refused with the reason.
func TestEverybodyIsEverywhere(t *testing.T) {
	t.Parallel()
	s := crewed(t)
	if said := s.says(t, "ben", "#write to * saying news"); strings.Contains(said, "not sent") {
		t.Error(said)
	}
	for _, name := range []string{"team-lead", "ann", "digger", "smith"} {
		awaitRead(t, s.Session, name, "ben", "news")
	}
	if said := s.says(t, "digger", "#write to * saying ours"); strings.Count(said, "queued for") != 1 { // its team is ben's
		t.Error(said)
	}
	awaitRead(t, s.Session, "ben", "digger", "ours")
	for name, others := range map[string][]string{
		"digger": {"team-lead", "ben", "ann", "smith"}, "ben": {"team-lead", "digger", "ann", "smith"}, "team-lead": {"ben", "digger", "ann", "smith"},
	} {
		said := s.says(t, name, "#look around")
		for _, other := range others {
			if !strings.Contains(said, "\n"+other+" (") || !strings.Contains(said, ": idle") {
				t.Errorf("%s does not see %s: %s", name, other, said)
			}
		}
	}
	if said := s.says(t, "digger", "#write to smit saying x"); !strings.Contains(said, "did you mean smith") {
		t.Error(said)
	}
	if _, err := s.Shutdown(t.Context(), "smith", 0); !errors.As(err, new(*team.RemoteAgentError)) {
		t.Errorf("down of one below: %v", err)
	}
}

// TestWhoWakesAnAgentInAnotherProcessHearsItsEnd like in one process, also where
// neither is on record with the other.
func TestWhoWakesAnAgentInAnotherProcessHearsItsEnd(t *testing.T) {
	t.Parallel()
	s := crewed(t)
	var mole actors.Status
	coordinatortest.Eventually(t, "the mole has ended", func() bool {
		for _, a := range s.Agents() {
			if a.Record.Spec.Description == "mole" {
				mole = a
			}
		}
		return mole.Record.Closed
	})
	id := string(mole.Record.Spec.ID)
	if said := s.says(t, "digger", "#write to "+id+" saying again"); !strings.Contains(said, "queued for") {
		t.Fatal(said)
	}
	coordinatortest.Eventually(t, "the digger has its report", func() bool {
		mail, err := s.Inbox("digger")
		return err == nil && slices.ContainsFunc(mail, func(m Trace) bool {
			return m.Envelope.Kind == mailbox.KindAgentReport && m.Envelope.From.Agent == mole.Record.Spec.ID
		})
	})
}

// TestATeammateApartWritesToAnotherSession like the lead, and so does an agent below it.
func TestATeammateApartWritesToAnotherSession(t *testing.T) {
	t.Parallel()
	s := crewed(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "s.yaml")
	if err := os.WriteFile(script, []byte("rules:\n  - say: {text: heard}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), Options{Dir: dir, StateDir: s.opts.StateDir, Home: dir, Model: "script:" + script, NewSession: "other", Inbound: InboundAccept, Mode: "bypassPermissions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := other.Begin(); err != nil {
		t.Fatal(err)
	}
	address := "uds:" + other.Info().Socket(s.opts.StateDir)
	for i, c := range [][2]string{{"ben", address}, {"digger", "other"}} {
		word := "word" + string(rune('a'+i))
		if said := s.says(t, c[0], "#write to "+c[1]+" saying "+word); !strings.Contains(said, "queued for") {
			t.Fatal(said)
		}
		coordinatortest.Eventually(t, "the other lead reads "+word, func() bool {
			mail, err := other.Inbox("lead")
			return err == nil && slices.ContainsFunc(mail, func(m Trace) bool { return strings.Contains(m.Envelope.Body, word) && !m.Unread() })
		})
	}
	if said := s.says(t, "digger", "#look around"); !strings.Contains(said, "session other ("+address+")") {
		t.Error(said)
	}
	for to, why := range map[string]string{"bridge:far": "--nats URL", "uds:/nobody": "leads to no session", "nobody": "there is no agent named"} {
		if said := s.says(t, "digger", "#write to "+to+" saying x"); !strings.Contains(said, why) {
			t.Errorf("to %s: %s", to, said)
		}
	}
}
