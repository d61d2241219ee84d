package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MadeTree is a made directory in the hands of one incarnation of an agent. Its
// fields do not change.
type MadeTree struct {
	Path        string // real and absolute
	Agent       string
	Incarnation uint32

	of    *Made
	owner holder
}

func (m *Made) tree(rec *madeRecord) *MadeTree {
	return &MadeTree{Path: rec.Path, Agent: rec.Agent, Incarnation: rec.Incarnation, of: m, owner: rec.Holder}
}

// Adopt gives the directory that an agent has to a later incarnation, or to the
// same one in another life of the process. It wraps ErrNoLease if there is none,
// and ErrGone or ErrShape if it is not what it was: start no agent then.
func (m *Made) Adopt(ctx context.Context, agent string, incarnation uint32) (t *MadeTree, err error) {
	if _, err := os.Lstat(m.file(agent)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("adopt the directory of agent %s: %w of it under %s", agent, ErrNoLease, m.root)
	}
	err = m.exclusively(ctx, func() error {
		rec, err := m.read(agent)
		switch {
		case err != nil:
			return err
		case rec == nil:
			return fmt.Errorf("%w of it under %s", ErrNoLease, m.root)
		case incarnation < rec.Incarnation:
			return &SupersededError{Agent: agent, Have: incarnation, Want: rec.Incarnation, Path: rec.Path}
		case rec.State == Creating:
			return fmt.Errorf("%w of it that is whole", ErrNoLease)
		case rec.State == Removing && missing(rec.Path):
			return errors.Join(m.forget(agent), fmt.Errorf("%w of it: %s was removed", ErrNoLease, rec.Path))
		case incarnation == rec.Incarnation && rec.State != Kept && rec.Holder.alive() && !rec.Holder.isSelf():
			return fmt.Errorf("%s: %w to this incarnation in process %d", rec.Path, ErrLeased, rec.Holder.PID)
		}
		if err := rec.verify(); err != nil {
			return err
		}
		rec.Incarnation, rec.Holder = incarnation, self()
		t = m.tree(rec)
		return m.set(rec, Leased)
	})
	if err != nil {
		return nil, fmt.Errorf("adopt the directory of agent %s: %w", agent, err)
	}
	return t, nil
}

// Release ends the lease. A directory in which nothing has changed since it was
// made, and for which the caller has no reason to keep it, is given to the maker
// to remove; anything else stays. This package itself removes nothing.
func (t *MadeTree) Release(ctx context.Context, keep ...string) (Released, error) {
	rel, err := t.of.release(ctx, t.Agent, t.mine, keep)
	if rel.Path == "" {
		rel.Path = t.Path
	}
	if err != nil {
		return rel, fmt.Errorf("release the directory of agent %s: %w", t.Agent, err)
	}
	return rel, nil
}

// mine returns an error if the record is another owner's.
func (t *MadeTree) mine(rec *madeRecord) error {
	if rec.Incarnation != t.Incarnation || rec.State == Leased && rec.Holder != t.owner {
		return &SupersededError{Agent: t.Agent, Have: t.Incarnation, Want: rec.Incarnation, Path: t.Path}
	}
	return nil
}

func (m *Made) release(ctx context.Context, agent string, may func(*madeRecord) error, keep []string) (rel Released, err error) {
	var rec *madeRecord
	err = m.exclusively(ctx, func() error {
		if rec, err = m.read(agent); err != nil || rec == nil {
			return err
		}
		if err := may(rec); err != nil {
			return err
		}
		rel = Released{Path: rec.Path, Why: rec.reasons(keep)}
		if len(rel.Why) > 0 {
			return m.set(rec, Kept)
		}
		rec.Holder = self()
		return m.set(rec, Removing)
	})
	if err != nil || len(rel.Why) > 0 {
		return rel, err
	}
	if rec == nil || missing(rec.Path) {
		rel.Removed = true
		return rel, m.forget(agent)
	}
	if why := m.hand(ctx, rec.Path); why != "" {
		rel.Why = []string{why}
		return rel, m.exclusively(context.WithoutCancel(ctx), func() error { return m.set(rec, Kept) })
	}
	rel.Removed = true
	return rel, m.forget(agent)
}

// hand lets the maker remove a directory; why says what it is still there for.
func (m *Made) hand(ctx context.Context, path string) (why string) {
	err := m.maker.Remove(ctx, path)
	switch {
	case missing(path):
		return ""
	case err != nil:
		return err.Error()
	}
	return "the hook that removes it has left it"
}
