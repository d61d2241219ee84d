package transcript

import (
	"errors"
	"slices"
	"time"

	"github.com/actorswarm/swarm/model"
)

// ErrForkOfFork is the answer to a fork of an agent that is a fork itself.
var ErrForkOfFork = errors.New("a fork cannot be forked: do the work here")

// CreateFork records the birth of an agent whose conversation begins with its
// parent's: the same system and tool blocks and the same messages up to and
// including the parent's newest answer, then for each call of that answer the
// same placeholder as its result, then the directive. Siblings of one answer
// share every byte up to the directive, and the memory of the history. The
// parent's records are never changed, so the prefix is the same after a restart.
func (s *Store) CreateFork(parent *Transcript, spec Spec, placeholder, directive string) (*Transcript, error) {
	base, m, blocks, err := parent.forkPoint(placeholder)
	if err != nil {
		return nil, err
	}
	spec.Fork = true
	t, _, err := s.Create(spec)
	if err != nil {
		return nil, err
	}
	return t, t.beginFork(base, m, append(blocks, model.Text(directive)))
}

// FinishFork is the rest of a CreateFork that a crash cut after the birth. The
// parent must still be in the answer that asked for the fork.
func (t *Transcript) FinishFork(parent *Transcript, placeholder, directive string) error {
	base, m, blocks, err := parent.forkPoint(placeholder)
	if err != nil {
		return err
	}
	return t.beginFork(base, m, append(blocks, model.Text(directive)))
}

func (t *Transcript) beginFork(base *talk, m *forkMeta, blocks []model.Block) error {
	raw := joinBlocks(blocks)
	t.mu.Lock()
	if t.life.Closed {
		t.mu.Unlock()
		return ErrClosed
	}
	ticket, err := t.add(kindFork, m, raw)
	t.talk = base.fork(raw)
	t.mu.Unlock()
	return wait(ticket, err)
}

// forkPoint returns what a fork of this moment begins with.
func (t *Transcript) forkPoint(placeholder string) (base *talk, m *forkMeta, results []model.Block, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.Spec.Fork {
		return nil, nil, nil, ErrForkOfFork
	}
	if err := t.load(); err != nil {
		return nil, nil, nil, err
	}
	k := t.talk
	if k.answer == 0 || len(k.calls) == 0 {
		return nil, nil, nil, errors.New("transcript: an agent is forked by a call of its newest answer, and there is none")
	}
	for _, c := range k.calls {
		results = append(results, model.ToolResult(c.ID, placeholder, false))
	}
	base = &talk{system: k.system, tools: k.tools, msgs: slices.Clip(k.msgs), counted: k.counted}
	return base, &forkMeta{Time: time.Now(), Parent: t.ID(), Seq: k.answer}, results, nil
}

// fork returns the conversation that goes on from k with the given blocks.
func (k *talk) fork(blocks []byte) *talk {
	return &talk{
		system: k.system, tools: k.tools, msgs: slices.Clip(k.msgs), counted: k.counted,
		pending: [][]byte{blocks}, newborn: true, prefix: len(k.msgs),
	}
}
