package swarm

import (
	"slices"
	"syscall"
	"testing"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/mailbox"
)

// Messages of teammates in processes of their own are reported once each, as a whole.
func TestMailOfANodeIsToldOnce(t *testing.T) {
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: wait}}, {tool: Agent, input: {name: ann, description: d, prompt: write}}]}
  - when: {agent: ann, step: 0}
    say: {calls: [{tool: SendMessage, input: {to: ben, message: hello}}, {tool: SendMessage, input: {to: team-lead, message: hello}}]}
  - say: {text: done}
`, nil)
	sub := s.Events()
	if _, err := s.Run(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	sent := map[mailbox.ID]int{}
	for heard := 0; heard < 2; {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch f := e.Fact.(type) {
		case event.MailSent:
			if sent[f.Envelope.ID]++; f.Envelope.ID == "" || sent[f.Envelope.ID] > 1 {
				t.Errorf("%s is told to have sent %+v", e.Agent.Name, f.Envelope)
			}
		case event.MailArrived:
			if f.Envelope.FromName == "ann" && f.Envelope.Kind == mailbox.KindText {
				heard++
			}
		}
	}
}

// TestProblem20_TheDeadInAnotherProcessKeepNoMail: whoever has written to a teammate
// that ends for good before it has read is notified, as within one process.
func TestProblem20_TheDeadInAnotherProcessKeepNoMail(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(*Session) error{
		"killed": func(s *Session) error { return s.Kill(t.Context(), "ben") },
		"down": func(s *Session) error {
			_, err := s.Shutdown(t.Context(), "ben", 0)
			return err
		},
	} {
		t.Run(how, func(t *testing.T) {
			s, ben := apartWith(t, "", "  - say: {text: done}\n", nil)
			coordinatortest.Eventually(t, "it rests", func() bool { return ben.Record().Result == "done" && !ben.Record().TurnOpen })
			if err := syscall.Kill(s.fleet.Process(ben.ID()).PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			sub := s.Events()
			posted, err := s.Send("ben", "you will not read this")
			if err != nil {
				t.Fatal(err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			coordinatortest.Next(t, sub, "the sender is told", func(e event.Event) bool {
				f, is := e.Fact.(event.MailStateChanged)
				return is && slices.Contains(f.IDs, posted[0].ID) && f.State == mailbox.StateDead
			})
		})
	}
}
