package transcript

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Counted is what the model last reported: the tokens of system, tools and conversation,
// with the size of that conversation. The zero value is unknown.
type Counted struct {
	Tokens   int64
	Bytes    int // of the messages that were counted
	Messages int // how many they were; 0 once a compaction has changed them
}

// Draft is the next model request as it would be now: the conversation, and what waits to
// become its next user message.
type Draft struct {
	Messages []model.Message
	Prefix   int // leading messages of a fork that never change
	Counted  Counted
	Results  []model.Call       // whose results wait, in order: the first of Waiting
	Waiting  [][]byte           // encoded blocks: results in call order, then prompts
	Fixed    bool               // the block after the results is a fork's directive
	Mail     []mailbox.Envelope // unread
	Fresh    bool               // compacted, and no request has followed
}

// Draft returns the next request as it would be now. The caller must not change its
// contents. Another goroutine may add prompts and mail at any time.
func (t *Transcript) Draft() (Draft, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return Draft{}, err
	}
	k := t.conv
	d := Draft{
		Messages: slices.Clip(k.msgs), Prefix: k.prefix, Counted: k.counted,
		Waiting: k.blocks(), Fixed: k.newborn, Mail: t.state.ledger.Unread(), Fresh: k.fresh,
	}
	for _, c := range k.calls {
		if c.Done {
			d.Results = append(d.Results, c.Call)
		}
	}
	return d, nil
}

// Intake is the part of a Draft that a request carries.
type Intake struct {
	Waiting int                 // blocks that were waiting in the Draft; 0 takes all there are
	Short   map[int]model.Block // replacements of waiting blocks, by place
	Mail    []mailbox.ID        // messages that the request reads; others stay unread
	Blocks  []model.Block       // these messages as the model sees them, and other text for it
}

// ErrChanged is the error for an Intake made from a Draft that is out of date: more is
// waiting now. Nothing was recorded; make another Draft.
var ErrChanged = errors.New("transcript: more has come in since the draft")

// Admit records the next model request with the parts that in names, and returns the
// conversation that it carries. It returns when the request, and everything before it,
// is on disk. Blocks that were shortened stay whole in the record.
func (t *Transcript) Admit(in Intake) ([]model.Message, error) {
	t.mu.Lock()
	msgs, ticket, err := t.admit(in)
	t.mu.Unlock()
	return msgs, wait(ticket, err)
}

// admit is Admit without the wait. mu is held.
func (t *Transcript) admit(in Intake) ([]model.Message, journal.Ticket, error) {
	if err := t.load(); err != nil {
		return nil, journal.Ticket{}, err
	}
	if c := t.conv.openCall(); c != nil {
		return nil, journal.Ticket{}, fmt.Errorf("transcript: request while call %s (%s) has no result", c.ID, c.Name)
	}
	if in.Waiting != 0 && in.Waiting != len(t.conv.blocks()) {
		return nil, journal.Ticket{}, ErrChanged
	}
	m := &requestMeta{Time: time.Now(), Mail: in.Mail}
	raw := m.shorten(in.Short)
	ticket, err := t.add(kindRequest, m, append(raw, joinBlocks(in.Blocks)...))
	if err != nil {
		return nil, journal.Ticket{}, err
	}
	t.state.ledger.Read(m.Mail...)
	return slices.Clip(t.conv.msgs), ticket, nil
}

// shorten records which blocks replace others and returns their bytes.
func (m *requestMeta) shorten(short map[int]model.Block) []byte {
	var raw []byte
	for _, at := range slices.Sorted(maps.Keys(short)) {
		block := short[at].AppendJSON(nil)
		m.Short = append(m.Short, shortMeta{At: at, Bytes: len(block)})
		raw = append(raw, block...)
	}
	return raw
}
