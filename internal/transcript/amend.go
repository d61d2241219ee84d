package transcript

import "time"

// Amend records what the user has changed about an agent since its birth. It
// counts from the agent's next turn on. Nothing is recorded when nothing
// differs.
func (t *Transcript) Amend(model, mode string, maxTurns int) error {
	t.mu.Lock()
	s := t.life.Spec
	if s.Model == model && s.Mode == mode && s.MaxTurns == maxTurns {
		t.mu.Unlock()
		return nil
	}
	m := &amendMeta{Time: time.Now(), Model: model, Mode: mode, MaxTurns: maxTurns}
	ticket, err := t.add(kindAmend, m, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}
