package transcript

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/model"
)

// conversation is the conversation of an agent: the fold over the records that a model
// request is made of. It is loaded when the agent first needs it.
type conversation struct {
	system  []json.RawMessage
	tools   []json.RawMessage
	msgs    []model.Message
	pending [][]byte      // encoded blocks for the next user message
	calls   []CallState   // tool calls of the newest answer
	answer  uint64        // place of the newest answer in the journal
	begin   *conversation // what a fork shares with its siblings; keeps it in memory for them
	final   *model.Answer // the newest answer, if it calls nothing and nothing has followed

	said []Said // by the user, and the task

	prefix  int     // leading messages of a fork that are its parent's, and its directive
	newborn bool    // a fork before its first request: the first pending block is its directive
	counted Counted // by the model, with the newest answer
	fresh   bool    // compacted, and no request has followed
}

// apply folds one record. Records of other kinds are ignored.
func (k *conversation) apply(kind byte, data []byte) error {
	switch kind {
	case kindSetup:
		return k.applySetup(data)
	case kindEnd:
		k.final = nil
	case kindPrompt:
		return folded(data, func(m promptMeta, raw []byte) error {
			raw = slices.Clone(raw)
			k.final, k.pending = nil, append(k.pending, raw)
			k.prompted(m.Origin, raw)
			return nil
		})
	case kindProtocol:
		return folded(data, func(_ protocolMeta, raw []byte) error {
			if len(raw) > 0 {
				k.final, k.pending = nil, append(k.pending, slices.Clone(raw))
			}
			return nil
		})
	case kindRequest:
		return folded(data, func(m requestMeta, raw []byte) error { return k.fold(m.Short, slices.Clone(raw)) })
	case kindCompacted:
		return folded(data, func(m compactedMeta, raw []byte) error { return k.compact(m.Keep, raw) })
	case kindAnswer:
		return folded(data, k.applyAnswer)
	case kindStart:
		return folded(data, func(m startMeta, _ []byte) error {
			return k.change(m.Call, func(c *CallState) { c.Started = true })
		})
	case kindConsent:
		return folded(data, func(m consentMeta, _ []byte) error {
			return k.change(m.Call, func(c *CallState) { c.Consent.apply(m) })
		})
	case kindFinish:
		return folded(data, func(m finishMeta, raw []byte) error {
			return k.change(m.Call, func(c *CallState) { c.Done, c.block = true, slices.Clone(raw) })
		})
	}
	return nil
}

// folded decodes a record and passes it to its fold.
func folded[M any](data []byte, fold func(m M, raw []byte) error) error {
	var m M
	raw, err := decode(data, &m)
	if err != nil {
		return err
	}
	return fold(m, raw)
}

// change changes a call of the newest answer. A call of an older answer is done, and
// nothing changes.
func (k *conversation) change(id string, f func(*CallState)) error {
	if c := k.call(id); c != nil {
		f(c)
	}
	return nil
}

func (k *conversation) applyAnswer(m answerMeta, raw []byte) error {
	msg, err := model.MessageFromRaw(slices.Clone(raw))
	if err != nil {
		return fmt.Errorf("transcript: recorded answer: %w", err)
	}
	k.answered(&model.Answer{ID: m.ID, Model: m.Model, Message: msg, StopReason: m.Stop, Usage: m.Usage})
	return nil
}

func (k *conversation) applySetup(data []byte) error {
	var m setupMeta
	raw, err := decode(data, &m)
	if err != nil {
		return err
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return fmt.Errorf("transcript: recorded setup: %w", err)
	}
	if m.System > len(blocks) {
		return fmt.Errorf("transcript: recorded setup has %d blocks and claims %d for the system", len(blocks), m.System)
	}
	k.system, k.tools = blocks[:m.System:m.System], blocks[m.System:]
	return nil
}

func (k *conversation) call(id string) *CallState {
	for i := range k.calls {
		if k.calls[i].ID == id {
			return &k.calls[i]
		}
	}
	return nil
}

// openCall returns the first call of the newest answer that has no result; nil if all
// have one.
func (k *conversation) openCall() *CallState {
	for i := range k.calls {
		if !k.calls[i].Done {
			return &k.calls[i]
		}
	}
	return nil
}

func (k *conversation) answered(a *model.Answer) {
	k.msgs = append(k.msgs, a.Message)
	k.count(a.Usage.Total())
	k.calls, k.final = nil, nil
	for _, c := range a.Calls() {
		k.calls = append(k.calls, CallState{Call: c})
	}
	if k.calls == nil {
		k.final = a
	}
}

// count records the tokens that the model reported for the conversation so far.
func (k *conversation) count(tokens int64) {
	bytes := k.counted.Bytes
	if k.counted.Messages == 0 {
		bytes = 0
	}
	for _, m := range k.msgs[k.counted.Messages:] {
		bytes += len(m.Raw())
	}
	k.counted = Counted{Tokens: tokens, Bytes: bytes, Messages: len(k.msgs)}
}

// blocks returns what the next user message is made of, mail excluded: the
// results of the newest answer's calls in call order, then the prompts.
func (k *conversation) blocks() [][]byte {
	var all [][]byte
	for _, c := range k.calls {
		if c.Done {
			all = append(all, c.block)
		}
	}
	return append(all, k.pending...)
}

// fold joins the pending blocks and the given ones into a user message; raw begins with
// the blocks that replace pending ones. With nothing new the request repeats an earlier
// one and there is no message.
func (k *conversation) fold(short []shortMeta, raw []byte) error {
	all := k.blocks()
	rest, err := replaceBlocks(all, short, raw)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		all = append(all, rest)
	}
	newborn := k.newborn
	k.pending, k.calls, k.final, k.newborn, k.fresh = nil, nil, nil, false, false
	if len(all) == 0 {
		return nil
	}
	msg, err := userMessage(all)
	if err != nil {
		return fmt.Errorf("transcript: build request: %w", err)
	}
	k.msgs = append(k.msgs, msg)
	if newborn {
		k.prefix = len(k.msgs)
	}
	return nil
}

// replaceBlocks replaces blocks of all by the leading ones of raw and returns what follows
// these in raw.
func replaceBlocks(all [][]byte, short []shortMeta, raw []byte) (rest []byte, err error) {
	for _, s := range short {
		if s.At < 0 || s.At >= len(all) || s.Bytes < 0 || s.Bytes > len(raw) {
			return nil, fmt.Errorf("transcript: recorded request shortens block %d of %d to %d of %d bytes", s.At, len(all), s.Bytes, len(raw))
		}
		all[s.At], raw = raw[:s.Bytes:s.Bytes], raw[s.Bytes:]
	}
	return raw, nil
}

// CallState is a tool call of the newest answer and what is known of it.
type CallState struct {
	model.Call
	Started bool
	Done    bool
	Consent Consent         // of a person
	block   json.RawMessage // the tool_result, once done
}
