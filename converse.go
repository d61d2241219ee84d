package swarm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team"
)

// Begin makes the lead, if there is none yet, and brings the agents to life:
// what was cut goes on. It is for those who talk with the lead through Say;
// Run and Resume do it by themselves. The error is a NoModelError when nothing
// says which model the lead is to have.
func (s *Session) Begin() error {
	if _, err := s.getLead(); err != nil {
		return err
	}
	return s.Wake()
}

// Say gives the lead a text of the user and returns when it is on disk. A lead
// at work reads it at its next step, any other begins a turn. Answers come as
// events.
func (s *Session) Say(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmptyPrompt
	}
	if err := s.Begin(); err != nil {
		return err
	}
	lead, err := s.getLead()
	if err != nil {
		return err
	}
	if err := s.lead.Reopen(lead); err != nil {
		return err
	}
	if err := s.notePrompt(text); err != nil {
		return err
	}
	if s.leadRuns() {
		user, ok := s.store.Get(agent.UserID)
		if !ok {
			return archive.ErrNoOutbox
		}
		_, err := s.roster.Send(user, team.Letter{To: string(agent.LeadID), Text: text})
		return err
	}
	if err := lead.Prompt("user", text); err != nil {
		return err
	}
	s.bus.Publish(agent.Describe(lead.Spec()), event.Prompted{Text: text})
	s.agents.Wake(agent.LeadID)
	return nil
}

var errEmptyPrompt = errors.New("the prompt is empty; say what is to be done")

func (s *Session) leadRuns() bool { return s.node.Runs(agent.LeadID) }

// Interrupt ends the lead's turn and with it the foreground agents that it
// waits for. Background agents and teammates go on; nobody ends for good. It
// returns at once and reports whether there was a turn to end.
func (s *Session) Interrupt() bool {
	if !s.leadRuns() {
		return false // a lead at rest is not held back from the reports it waits for
	}
	s.agents.Interrupt(agent.LeadID)
	return true
}

// InterruptAgent is Interrupt for any agent, by name or id: its turn ends with
// what it waits for, and the agent goes on with the next message that it gets.
func (s *Session) InterruptAgent(name string) (bool, error) {
	t, err := s.roster.Find(name)
	if err != nil {
		a, err := s.askNested(s.scope, name, workerapi.DoInterruptBelow, err)
		return a.Running, err
	}
	if !s.node.Runs(t.ID()) {
		return false, nil
	}
	s.agents.Interrupt(t.ID())
	return true, nil
}

// BackgroundForeground lets everything that the lead waits for go on in the
// background: its foreground agents and the command that it runs itself. It
// returns what was moved, by name.
func (s *Session) BackgroundForeground() []string {
	var moved []string
	for _, a := range s.agents.Status() {
		spec := a.Life.Spec
		if spec.Parent != agent.LeadID || spec.Role != agent.Foreground || a.Life.Closed {
			continue
		}
		if s.agents.Background(spec.ID) == nil { // it may have ended meanwhile
			moved = append(moved, agent.DisplayName(spec))
		}
	}
	return append(moved, s.node.Kits.Detach(agent.LeadID)...)
}

// SetModel gives the lead another model from its next turn on: an alias, an id,
// "openai:ID" or "script:FILE". A name that no provider knows changes nothing.
func (s *Session) SetModel(name string) error {
	if _, _, err := s.models.Find(name); err != nil {
		return fmt.Errorf("the model %s cannot be used: %w", name, err)
	}
	if err := s.lead.SetModel(name); err != nil {
		return misuse(err)
	}
	return s.record.Update(func(i *Info) error { i.Model = name; return nil })
}

// Exchange is what the user said last and what the lead answered. Answer is
// empty while there is none.
type Exchange struct{ Prompt, Answer string }

// LastExchange returns the newest exchange of the user with the lead, both
// texts empty in a session that has none.
func (s *Session) LastExchange() (Exchange, error) {
	lead, ok := s.store.Get(agent.LeadID)
	if !ok {
		return Exchange{}, nil
	}
	msgs, err := lead.Messages()
	if err != nil {
		return Exchange{}, err
	}
	var e Exchange
	for i := len(msgs) - 1; i >= 0 && e.Prompt == ""; i-- {
		switch text := spoken(msgs[i]); {
		case msgs[i].Role() == model.RoleUser:
			e.Prompt = text
		case e.Answer == "":
			e.Answer = text
		}
	}
	return e, nil
}

// spoken is what a message holds of the user's or the model's own words.
func spoken(m model.Message) string {
	var parts []string
	for _, b := range m.Blocks() {
		if b.Type != "text" {
			continue
		}
		if text := turn.Unframe(b.Text); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}
