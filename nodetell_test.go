package swarm

import (
	"testing"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// What teammates in processes of their own write is told once each, as a whole
// message.
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
