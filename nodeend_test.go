package swarm

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// TestAllBelowATeammateApartEndWithIt: the end of a teammate in a process of its own
// ends all that work there, is reported for each, and shows at once, also when the process
// does not answer; and the senders of mail to one that has ended for good are notified.
func TestAllBelowATeammateApartEndWithIt(t *testing.T) {
	t.Parallel()
	none := func(error) ([]Ended, error) { return nil, nil }
	ways := map[string]struct {
		do     func(*Session) ([]Ended, error)
		reason string
		final  bool
	}{
		"stop":      {func(s *Session) ([]Ended, error) { return none(s.Stop(t.Context(), "ben")) }, "stopped by the user", false},
		"stop tree": {func(s *Session) ([]Ended, error) { return s.StopTree(t.Context(), "ben") }, "stopped by the user", false},
		"kill":      {func(s *Session) ([]Ended, error) { return none(s.Kill(t.Context(), "ben")) }, turn.ErrKilled.Error(), true},
		"kill tree": {func(s *Session) ([]Ended, error) { return s.KillTree(t.Context(), "ben") }, turn.ErrKilled.Error(), true},
		"down": {func(s *Session) ([]Ended, error) {
			d, err := s.Shutdown(t.Context(), "ben", 0)
			return d.Ended, err
		}, "shut down by the user", true},
	}
	for name, way := range ways {
		for _, frozen := range []bool{false, true} {
			if frozen {
				name += " frozen"
			}
			if frozen && name == "stop tree frozen" || name == "kill frozen" {
				continue // like the other
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, ben := apartWith(t, "", `  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Agent, input: {name: kid, description: d, prompt: begin}}]}
  - when: {agent: kid}
    say: {stall: true}
  - say: {text: ok}
`, nil)
				coordinatortest.Eventually(t, "the kid works", func() bool { return lifeOf(s, "kid").TurnOpen && ben.Record().Outcome == agent.Completed })
				if frozen {
					kill(t, s.fleet.Process(ben.ID()).PID, syscall.SIGSTOP)
				}
				sub := s.Events()
				defer sub.Close()
				posted, err := s.Send("kid", "you will not read this")
				if err != nil {
					t.Fatal(err)
				}
				ended, err := way.do(s)
				if err != nil {
					t.Fatal(err)
				}
				if l := lifeOf(s, "kid"); !l.Closed || l.TurnOpen || l.Outcome != agent.Stopped || !strings.Contains(l.Reason, way.reason) {
					t.Errorf("the kid is %+v", l)
				}
				if !strings.HasPrefix(name, "stop") && !strings.HasPrefix(name, "kill") || strings.Contains(name, "tree") {
					if !slices.ContainsFunc(ended, func(e Ended) bool { return e.Name == "kid" && e.State == "stopped" }) {
						t.Errorf("of the kid it is not said that it has ended: %+v", ended)
					}
				}
				if !way.final {
					coordinatortest.Eventually(t, "ben works again", func() bool {
						_, err := s.Send("ben", "again")
						return err == nil && lifeOf(s, "ben").Turns > 1
					})
					if l := lifeOf(s, "kid"); !l.Closed {
						t.Errorf("the kid came back with it: %+v", l)
					}
					return
				}
				coordinatortest.Next(t, sub, "the sender is told", func(e event.Event) bool {
					f, is := e.Fact.(event.MailStateChanged)
					return is && slices.Contains(f.IDs, posted[0].ID) && f.State == mailbox.StateDead
				})
				if _, err := s.Send("kid", "x"); err == nil || !strings.Contains(err.Error(), "cannot be woken again") {
					t.Errorf("it can be written to: %v", err)
				}
			})
		}
	}
}

// TestProblem20_TheDeadBelowATeammateApartKeepNoMail, whoever has written it and from
// which process, and also under the next owner of the session.
func TestProblem20_TheDeadBelowATeammateApartKeepNoMail(t *testing.T) {
	t.Parallel()
	s := crewed(t)
	ben, digger := lifeOf(s.Session, "ben").Spec.ID, lifeOf(s.Session, "digger").Spec.ID
	kill(t, s.fleet.Process(ben).PID, syscall.SIGSTOP)
	said := s.says(t, "smith", "#write to "+string(digger)+" saying late")
	_, id, ok := strings.Cut(said, "id=")
	if !ok {
		t.Fatal(said)
	}
	id, _, _ = strings.Cut(id, " ")
	if err := s.Kill(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "the smith is told", func() bool {
		m, err := s.Message(mailbox.ID(id))
		return err == nil && slices.ContainsFunc(m.Steps, func(x mailbox.Step) bool { return x.State == mailbox.StateDead })
	})
	next, _ := fleet.New(s.scope, s.fleetOptions())
	coordinatortest.Eventually(t, "the next owner knows it too", func() bool { return next.IsGone(digger) })
	if next.IsGone("smith") {
		t.Error("the living are dead to it")
	}
}

// TestWhatADeadProcessHasAcceptedArrives: a message counts as sent once it is on the
// disk of its sender's process, also when that ends for good a moment later.
func TestWhatADeadProcessHasAcceptedArrives(t *testing.T) {
	t.Parallel()
	s, ben := apartWith(t, "", "  - say: {text: ok}\n", nil)
	coordinatortest.Eventually(t, "ben has begun", func() bool { return ben.Record().Outcome == agent.Completed })
	if err := s.Stop(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	lead, err := s.lead.Get()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("found it. ", 10_000)
	sent := acceptAs(t, s, ben.ID(), lead, "found it", long)
	sub := s.Events()
	defer sub.Close()
	if err := s.Kill(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	for range sent {
		coordinatortest.Next(t, sub, "the lead gets what ben has sent", func(e event.Event) bool {
			f, is := e.Fact.(event.MailArrived)
			return is && e.Agent.ID == lead.ID() && slices.Contains(sent, f.Envelope.ID)
		})
	}
	coordinatortest.Eventually(t, "nothing of it is on its way any more", func() bool {
		m, err := s.Message(sent[1])
		return err == nil && len(m.Steps) > 1
	})
}

// acceptAs writes messages into the record of an agent whose process has ended, as that
// process could have done with its last breath.
func acceptAs(t *testing.T, s *Session, from mailbox.AgentID, to *transcript.Transcript, texts ...string) (ids []mailbox.ID) {
	t.Helper()
	store, err := transcript.Open(t.Context(), archive.Dir(s.Info().Path, from), s.ID(), transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	me, ok := store.Get(from)
	if !ok {
		t.Fatalf("%s has no record", from)
	}
	for _, text := range texts {
		e, durable, err := me.Send(mailbox.Envelope{To: mailbox.Address{Agent: to.ID()}, FromName: "ben", ToName: "team-lead", Kind: mailbox.KindText, Body: text})
		if err == nil {
			err = durable()
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestAProcessBeginsWhileItsRecordIsLookedAt: a look holds the record for a moment, and
// is no reason for a process to end.
func TestAProcessBeginsWhileItsRecordIsLookedAt(t *testing.T) {
	t.Parallel()
	s, ben := apartWith(t, "", "  - say: {text: ok}\n", nil)
	coordinatortest.Eventually(t, "ben has begun", func() bool { return ben.Record().Outcome == agent.Completed })
	if err := s.Stop(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	look, err := transcript.Open(t.Context(), archive.Dir(s.Info().Path, ben.ID()), s.ID(), transcript.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send("ben", "again"); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "its process is there", func() bool {
		return s.fleet.Process(ben.ID()) != nil && executor.Held(filepath.Join(archive.Dir(s.Info().Path, ben.ID()), "lock"))
	})
	select {
	case <-s.fleet.Process(ben.ID()).Done():
		t.Error("its process did not wait")
	case <-time.After(time.Second):
	}
	if err := look.Close(); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "ben works again", func() bool { return ben.Record().Turns > 1 })
	if n := ben.Record().Launch; n != 2 {
		t.Errorf("it was started %d times", n)
	}
}

// TestAnAgentEndsWhileItsRecordIsLookedAt waits for the look too.
func TestAnAgentEndsWhileItsRecordIsLookedAt(t *testing.T) {
	t.Parallel()
	s, ben := apartWith(t, "", "  - say: {text: ok}\n", nil)
	coordinatortest.Eventually(t, "ben has begun", func() bool { return ben.Record().Outcome == agent.Completed })
	if err := s.Stop(t.Context(), "ben"); err != nil {
		t.Fatal(err)
	}
	look, err := transcript.Open(t.Context(), archive.Dir(s.Info().Path, ben.ID()), s.ID(), transcript.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	time.AfterFunc(500*time.Millisecond, func() { closed <- look.Close() })
	if err := s.Kill(t.Context(), "ben"); err != nil {
		t.Errorf("it was not ended: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
