package transcript

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
)

// Amend records what the user has changed about an agent since its birth. The change
// takes effect with the agent's next turn. Nothing is recorded when nothing differs.
func (t *Transcript) Amend(model, mode string, maxTurns int) error {
	t.mu.Lock()
	s := t.state.Spec
	if s.Model == model && s.Mode == mode && s.MaxTurns == maxTurns {
		t.mu.Unlock()
		return nil
	}
	m := &amendMeta{Time: time.Now(), Model: model, Mode: mode, MaxTurns: maxTurns}
	ticket, err := t.add(kindAmend, m, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}

// SetTeams records the teams that the agent is in or leads, the one it works in first; an
// empty list takes it out of all. Nothing is recorded when nothing differs.
func (t *Transcript) SetTeams(teams []agent.Membership) error {
	t.mu.Lock()
	if was := t.state.Spec.Teams; was != nil && slices.Equal(was, teams) {
		t.mu.Unlock()
		return nil
	}
	m := &teamsMeta{Time: time.Now(), Teams: append([]agent.Membership{}, teams...)}
	ticket, err := t.add(kindTeams, m, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}
