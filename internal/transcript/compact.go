package transcript

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/model"
)

// Trigger is the cause of a compaction.
type Trigger string

// The triggers.
const (
	Auto    Trigger = "auto"     // the window is nearly full
	Manual  Trigger = "manual"   // the user or a program asked for it
	TooLong Trigger = "too_long" // the provider refused the request
)

// Compaction replaces the older part of a conversation.
type Compaction struct {
	Keep    int           // messages at the end that stay as they are; the first of them is the model's
	Summary []model.Block // in place of what is between a fork's prefix and these
	Tokens  int64         // of the conversation before, for people
	Trigger Trigger
	Usage   model.Usage // of the request that made the summary
}

// Compact records a compaction and returns when it is on disk: from then on a request
// carries the summary in place of the messages that it replaces. The conversation must
// be as it was when the summary was made, so only the agent's own turn may call it.
func (t *Transcript) Compact(c Compaction) error {
	t.mu.Lock()
	ticket, err := t.compact(c)
	t.mu.Unlock()
	return wait(ticket, err)
}

func (t *Transcript) compact(c Compaction) (journal.Ticket, error) {
	if t.state.Closed {
		return journal.Ticket{}, ErrClosed
	}
	if err := t.load(); err != nil {
		return journal.Ticket{}, err
	}
	if err := t.conv.canCompact(c.Keep); err != nil {
		return journal.Ticket{}, err
	}
	m := &compactedMeta{Time: time.Now(), Keep: c.Keep, Tokens: c.Tokens, Trigger: string(c.Trigger), Usage: c.Usage}
	m.Cost = t.store.priced(c.Usage, t.state.AnsweredBy)
	return t.add(kindCompacted, m, joinBlocks(c.Summary))
}

// canCompact returns an error if a compaction would leave a result without its call, or
// nothing to compact.
func (k *conversation) canCompact(keep int) error {
	cut := len(k.msgs) - keep
	switch {
	case keep < 0 || cut <= k.prefix:
		return fmt.Errorf("transcript: %d of %d messages are to be kept and %d are fixed: nothing is left to compact", keep, len(k.msgs), k.prefix)
	case keep == 0 && len(k.calls) > 0:
		return errors.New("transcript: the newest answer has calls and must be kept in a compaction")
	case keep > 0 && k.msgs[cut].Role() != model.RoleAssistant:
		return errors.New("transcript: what a compaction keeps must begin with an answer of the model")
	}
	return nil
}

// compact folds a compaction. Forks may share msgs, so it makes another list.
func (k *conversation) compact(keep int, summary []byte) error {
	if err := k.canCompact(keep); err != nil {
		return err
	}
	msg, err := userMessage([][]byte{summary})
	if err != nil {
		return fmt.Errorf("transcript: build the summary: %w", err)
	}
	k.msgs = slices.Concat(k.msgs[:k.prefix], []model.Message{msg}, k.msgs[len(k.msgs)-keep:])
	k.counted.Messages, k.fresh = 0, true
	return nil
}
