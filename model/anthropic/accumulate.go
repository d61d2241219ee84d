package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/model"
)

// accumulator builds an answer from the events of one stream. An event that makes no sense
// is an error, so that a garbled answer never counts as one.
type accumulator struct {
	begun, stopped bool
	ping           bool // the last event had no content
	id, model      string
	stopReason     string
	explanation    string // of a refusal
	usage          model.Usage
	blocks         []*block
}

type wireEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string    `json:"id"`
		Model string    `json:"model"`
		Usage wireUsage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        wireDelta       `json:"delta"`
	Usage        wireUsage       `json:"usage"`
}

type wireDelta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Citation    json.RawMessage `json:"citation"`
	StopReason  string          `json:"stop_reason"`
	StopDetails struct {
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// wireUsage distinguishes missing values from zero: later events repeat only
// what changed.
type wireUsage struct {
	Input  *int64 `json:"input_tokens"`
	Output *int64 `json:"output_tokens"`
	Write  *int64 `json:"cache_creation_input_tokens"`
	Read   *int64 `json:"cache_read_input_tokens"`
}

func (w wireUsage) update(u *model.Usage) {
	for _, f := range []struct{ from, to *int64 }{
		{w.Input, &u.InputTokens},
		{w.Output, &u.OutputTokens},
		{w.Write, &u.CacheCreationInputTokens},
		{w.Read, &u.CacheReadInputTokens},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

func truncated(format string, args ...any) *model.Error {
	return &model.Error{Kind: model.Truncated, Message: fmt.Sprintf(format, args...)}
}

// add applies the data of one event and returns the event for observers, if there is one.
func (a *accumulator) add(data []byte) (model.Event, error) {
	var none model.Event
	var w wireEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return none, a.undecodable(data, err)
	}
	a.ping = false
	switch w.Type {
	case "message_start":
		return none, a.start(&w)
	case "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
		if !a.begun {
			return none, truncated("%s came before message_start", w.Type)
		}
	case "error":
		typ, message := decodeError(data)
		return none, model.NewError(200, typ, message, 0)
	default:
		a.ping = true
		return none, nil
	}
	switch w.Type {
	case "content_block_start":
		return a.open(&w)
	case "content_block_delta":
		return a.extend(&w)
	case "content_block_stop":
		return none, a.close(w.Index)
	case "message_delta":
		return none, a.delta(&w)
	}
	a.stopped = true
	return none, nil
}

// undecodable ignores events of unknown types, whatever their form.
func (a *accumulator) undecodable(data []byte, err error) error {
	var w struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &w) != nil {
		return truncated("an event is not JSON: %v", err)
	}
	switch w.Type {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "error":
		return truncated("an event of type %s has another form: %v", w.Type, err)
	}
	a.ping = true
	return nil
}

func (a *accumulator) start(w *wireEvent) error {
	if a.begun {
		return truncated("the answer began twice")
	}
	a.begun, a.id, a.model = true, w.Message.ID, w.Message.Model
	w.Message.Usage.update(&a.usage)
	return nil
}

func (a *accumulator) open(w *wireEvent) (model.Event, error) {
	if a.stopReason != "" || w.Index != len(a.blocks) {
		return model.Event{}, truncated("block %d began as number %d", w.Index, len(a.blocks))
	}
	b, err := newBlock(w.ContentBlock)
	if err != nil {
		return model.Event{}, truncated("block %d: %v", w.Index, err)
	}
	a.blocks = append(a.blocks, b)
	switch b.Type {
	case model.TypeToolUse:
		return model.Event{Kind: model.CallStarted, Call: model.Call{ID: b.ID, Name: b.Name}}, nil
	case model.TypeText:
		return delta(model.TextDelta, b.Text), nil
	case model.TypeThinking:
		return delta(model.ThinkingDelta, b.Thinking), nil
	}
	return model.Event{}, nil
}

// delta returns an event only if there is something to show.
func delta(kind model.EventKind, text string) model.Event {
	if text == "" {
		return model.Event{}
	}
	return model.Event{Kind: kind, Text: text}
}

// at returns the open block of the index.
func (a *accumulator) at(index int) (*block, error) {
	if index < 0 || index >= len(a.blocks) {
		return nil, truncated("block %d never began", index)
	}
	if a.blocks[index].closed {
		return nil, truncated("block %d had ended already", index)
	}
	return a.blocks[index], nil
}

func (a *accumulator) extend(w *wireEvent) (model.Event, error) {
	b, err := a.at(w.Index)
	if err != nil {
		return model.Event{}, err
	}
	if err := b.extend(&w.Delta); err != nil {
		return model.Event{}, truncated("block %d: %v", w.Index, err)
	}
	switch w.Delta.Type {
	case "text_delta":
		return delta(model.TextDelta, w.Delta.Text), nil
	case "thinking_delta":
		return delta(model.ThinkingDelta, w.Delta.Thinking), nil
	}
	return model.Event{}, nil
}

func (a *accumulator) close(index int) error {
	b, err := a.at(index)
	if err != nil {
		return err
	}
	b.closed = true
	return nil
}

func (a *accumulator) delta(w *wireEvent) error {
	w.Usage.update(&a.usage)
	if w.Delta.StopReason != "" {
		a.stopReason, a.explanation = w.Delta.StopReason, w.Delta.StopDetails.Explanation
	}
	return nil
}

// answer checks that the answer is complete and returns it.
func (a *accumulator) answer() (*model.Answer, error) {
	switch {
	case a.stopReason == "":
		return nil, truncated("the answer ended without a stop reason")
	case slices.ContainsFunc(a.blocks, func(b *block) bool { return !b.closed }):
		return nil, truncated("the answer ended inside a block")
	case a.stopReason == "refusal":
		return nil, &model.Error{Kind: model.Refused, Status: 200, Type: a.stopReason, Message: a.explanation}
	}
	blocks := make([]model.Block, 0, len(a.blocks))
	for i, b := range a.blocks {
		whole, err := b.finish()
		if err != nil && !model.IsCutReason(a.stopReason) {
			return nil, truncated("block %d: %v", i, err)
		}
		blocks = append(blocks, whole)
	}
	return model.NewAnswer(a.id, a.model, a.stopReason, a.usage, blocks)
}
