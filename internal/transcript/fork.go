package transcript

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// ErrForkOfFork is the error of a fork of an agent that is a fork itself.
var ErrForkOfFork = errors.New("a fork cannot be forked: do the work here")

// CreateFork records the birth of an agent whose conversation begins with its
// parent's: the same system and tool blocks and the same messages up to and
// including the parent's newest answer, then for each call of that answer the
// same placeholder as its result, then the directive. Siblings of one answer
// share every byte up to the directive, and the memory of the history. The
// parent's records are never changed, so the prefix is the same after a restart.
func (s *Store) CreateFork(parent *Transcript, spec agent.Spec, placeholder, directive string) (*Transcript, error) {
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

// FinishFork does the rest of a CreateFork that a crash cut after the birth. The answer
// that asked for the fork must still be the parent's newest.
func (t *Transcript) FinishFork(parent *Transcript, placeholder, directive string) error {
	base, m, blocks, err := parent.forkPoint(placeholder)
	if err != nil {
		return err
	}
	return t.beginFork(base, m, append(blocks, model.Text(directive)))
}

func (t *Transcript) beginFork(base *conversation, m *forkMeta, blocks []model.Block) error {
	raw := joinBlocks(blocks)
	t.mu.Lock()
	if t.state.Closed {
		t.mu.Unlock()
		return ErrClosed
	}
	ticket, err := t.add(kindFork, m, raw)
	t.conv = base.fork(raw)
	t.mu.Unlock()
	return wait(ticket, err)
}

// forkPoint returns what a fork begins with now.
func (t *Transcript) forkPoint(placeholder string) (base *conversation, m *forkMeta, results []model.Block, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Spec.Fork {
		return nil, nil, nil, ErrForkOfFork
	}
	if err := t.load(); err != nil {
		return nil, nil, nil, err
	}
	k := t.conv
	if k.answer == 0 || len(k.calls) == 0 {
		return nil, nil, nil, errors.New("transcript: an agent is forked by a call of its newest answer, and there is none")
	}
	for _, c := range k.calls {
		results = append(results, model.ToolResult(c.ID, placeholder, false))
	}
	m = &forkMeta{Time: time.Now(), Parent: t.ID(), Seq: k.answer}
	base, err = t.store.forks.of(forkPoint{m.Parent, m.Seq}, func() (*conversation, error) {
		return &conversation{system: k.system, tools: k.tools, msgs: slices.Clip(k.msgs), counted: k.counted, said: slices.Clip(k.said)}, nil
	})
	return base, m, results, err
}

// fork returns the conversation that continues k with the given blocks.
func (k *conversation) fork(blocks []byte) *conversation {
	f := &conversation{
		system: k.system, tools: k.tools, msgs: slices.Clip(k.msgs), counted: k.counted, said: slices.Clip(k.said),
		pending: [][]byte{blocks}, newborn: true, prefix: len(k.msgs), begin: k,
	}
	f.directed(blocks)
	return f
}

// prefixes are the beginnings of forks that are in memory. Forks of one answer share one,
// also when they are loaded again one after the other.
type prefixes struct {
	mu sync.Mutex
	at map[forkPoint]weak.Pointer[conversation] // guarded by mu
}

type forkPoint struct {
	parent mailbox.AgentID
	seq    uint64
}

// of returns the beginning at p, read by load if no fork has it in memory.
func (s *prefixes) of(p forkPoint, load func() (*conversation, error)) (*conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.at[p].Value(); k != nil {
		return k, nil
	}
	k, err := load()
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(s.at, func(_ forkPoint, w weak.Pointer[conversation]) bool { return w.Value() == nil })
	if s.at == nil {
		s.at = map[forkPoint]weak.Pointer[conversation]{}
	}
	s.at[p] = weak.Make(k)
	return k, nil
}
