package worktree

import (
	"context"
	"fmt"
	"time"
)

// List returns the made directories, by agent.
func (m *Made) List() ([]Entry, error) {
	all, err := m.all()
	if err != nil {
		return nil, fmt.Errorf("list the directories that hooks made: %w", err)
	}
	var out []Entry
	for _, rec := range all {
		out = append(out, rec.entry())
	}
	return out, nil
}

func (rec *madeRecord) entry() Entry {
	e := Entry{
		Agent: rec.Agent, Incarnation: rec.Incarnation, State: rec.State, Path: rec.Path, Since: rec.Since,
		PID: rec.Holder.PID, Live: rec.Holder.alive(),
	}
	switch {
	case rec.State == Creating && !e.Live:
		e.Problem = fmt.Sprintf("the process died while a hook made it; look for what the hook makes for the name %q", nameOf(rec.Agent))
	case rec.State != Creating:
		if err := rec.verify(); err != nil {
			e.Problem = err.Error()
		}
	}
	return e
}

// Prune releases the directories that no living process holds, those of dead
// processes once Options.StaleAfter has passed.
func (m *Made) Prune(ctx context.Context) ([]Pruned, error) {
	all, err := m.all()
	if err != nil {
		return nil, fmt.Errorf("prune the directories that hooks made: %w", err)
	}
	var out []Pruned
	for _, rec := range all {
		p, err := m.pruneOne(ctx, rec)
		if err != nil {
			return out, fmt.Errorf("prune the directories that hooks made: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (m *Made) pruneOne(ctx context.Context, rec *madeRecord) (Pruned, error) {
	p := Pruned{Entry: rec.entry()}
	switch {
	case rec.Holder.alive():
		p.Why = []string{fmt.Sprintf("process %d holds it for incarnation %d", p.PID, p.Incarnation)}
	case rec.State != Kept && time.Since(rec.Since) < m.stale:
		p.Why = []string{fmt.Sprintf("process %d, which held it, died less than %v ago", p.PID, m.stale)}
	case rec.State == Creating:
		p.Removed = true // the record; nobody knows of a directory
		return p, m.forget(rec.Agent)
	default:
		rel, err := m.release(ctx, rec.Agent, rec.unchanged, nil)
		p.Removed, p.Why = rel.Removed, rel.Why
		return p, err
	}
	return p, nil
}

// unchanged returns an error if somebody took the directory over since.
func (rec *madeRecord) unchanged(now *madeRecord) error {
	if now.Incarnation != rec.Incarnation || now.State != rec.State {
		return &SupersededError{Agent: rec.Agent, Have: rec.Incarnation, Want: now.Incarnation, Path: rec.Path}
	}
	return nil
}
