package transcript

import (
	"encoding/json"
	"slices"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Said is a text that an agent works for.
type Said struct {
	// User reports that it is the user's own. Otherwise it is the task from the agent that
	// started this one.
	User bool
	Text string
}

// Judging is the transcript of an agent whose work a model judges.
type Judging struct{ *Transcript }

// Judging returns the transcript for a model that judges the agent's work.
func (t *Transcript) Judging() Judging { return Judging{t} }

// Said returns what the user has written to the agent, and its task, the oldest first.
// For a fork it begins with what its parent was told. What other agents, hooks and tools
// have written is not in it.
func (t Judging) Said() ([]Said, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	return slices.Clone(t.conv.said), nil
}

// prompted adds a prompt, which is an encoded block.
func (k *conversation) prompted(origin string, raw []byte) {
	var block struct{ Text string }
	if origin != "user" && origin != "parent" || json.Unmarshal(raw, &block) != nil {
		return
	}
	k.said = append(k.said, Said{User: origin == "user", Text: block.Text})
}

// directed adds the directive of a fork, which is the last of encoded blocks.
func (k *conversation) directed(blocks []byte) {
	var all []struct{ Type, Text string }
	if json.Unmarshal(joinBytes("[", blocks, "]"), &all) != nil || len(all) == 0 || all[len(all)-1].Type != model.TypeText {
		return
	}
	k.said = append(k.said, Said{Text: all[len(all)-1].Text})
}

// mailed adds a message of the user, or the message with the task of the agent of a
// stream.
func (k *conversation) mailed(stream string, e mailbox.Envelope) {
	if user := e.From.Agent == agent.UserID; user || e.ID == mailbox.ID("p-"+stream) {
		k.said = append(k.said, Said{User: user, Text: e.Body})
	}
}
