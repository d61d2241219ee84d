package model

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Usage counts tokens in the categories of the bill.
type Usage struct {
	InputTokens              int64 `json:"input_tokens"` // neither written to nor read from the cache
	OutputTokens             int64 `json:"output_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:              u.InputTokens + v.InputTokens,
		OutputTokens:             u.OutputTokens + v.OutputTokens,
		CacheCreationInputTokens: u.CacheCreationInputTokens + v.CacheCreationInputTokens,
		CacheReadInputTokens:     u.CacheReadInputTokens + v.CacheReadInputTokens,
	}
}

// Total returns all tokens of a request and its answer, which is what the conversation
// takes of the model's window with the answer.
func (u Usage) Total() int64 {
	return u.InputTokens + u.OutputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
}

// Stop reasons that callers distinguish; a provider may have others.
const (
	StopEndTurn   = "end_turn"
	StopToolUse   = "tool_use"
	StopMaxTokens = "max_tokens"
	StopSequence  = "stop_sequence"
	StopPauseTurn = "pause_turn"
	StopContext   = "model_context_window_exceeded"
)

// Answer is a complete answer of a model.
type Answer struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Message    Message `json:"message"`
	StopReason string  `json:"stop_reason"`
	Usage      Usage   `json:"usage"`
	// Requested is the requested model, if known; Model is the one that the answer names.
	Requested string `json:"-"`
}

// Call is one tool call of a model.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage // a JSON object
}

// NewAnswer assembles a complete answer and enforces the laws: an answer cut at a limit
// loses its calls and its unsigned thinking and gets a note for the model, two calls with
// one id cause a Truncated error, and an answer without content an Empty one.
func NewAnswer(id, name, stopReason string, usage Usage, blocks []Block) (*Answer, error) {
	if call, twice := repeatedCall(blocks); twice {
		return nil, &Error{Kind: Truncated, Message: fmt.Sprintf("two tool calls have the id %q", call)}
	}
	if IsCutReason(stopReason) {
		blocks = withoutUnfinished(blocks)
	}
	if !slices.ContainsFunc(blocks, func(b Block) bool { return !b.empty() }) {
		return nil, &Error{Kind: Empty, Message: "it stopped with " + stopReason}
	}
	return &Answer{ID: id, Model: name, StopReason: stopReason, Usage: usage, Message: AssistantMessage(blocks...)}, nil
}

func repeatedCall(blocks []Block) (id string, twice bool) {
	seen := map[string]bool{}
	for _, b := range blocks {
		if b.Type != TypeToolUse {
			continue
		}
		if seen[b.ID] {
			return b.ID, true
		}
		seen[b.ID] = true
	}
	return "", false
}

// withoutUnfinished returns the blocks of a cut answer that may be sent back to the model,
// and a note of what is missing.
func withoutUnfinished(blocks []Block) []Block {
	kept := make([]Block, 0, len(blocks)+1)
	lost := 0
	for _, b := range blocks {
		switch {
		case b.Type == TypeToolUse:
			lost++
		case b.Type == TypeThinking && b.Signature == "":
		default:
			kept = append(kept, b)
		}
	}
	if lost > 0 {
		return append(kept, Text(fmt.Sprintf("[The answer was cut at a length limit. Tool calls in it that were not run: %d.]", lost)))
	}
	return kept
}

// Text returns the text blocks of the answer, joined by newlines.
func (a *Answer) Text() string { return a.Message.Text() }

// Cut reports whether the answer ended at a limit.
func (a *Answer) Cut() bool { return IsCutReason(a.StopReason) }

// IsCutReason reports whether a stop reason means that the answer ended at a limit.
func IsCutReason(stopReason string) bool {
	return stopReason == StopMaxTokens || stopReason == StopContext
}

// Calls returns the tool calls in the model's order. A cut answer has none, since a cut
// input cannot always be distinguished from a complete one.
func (a *Answer) Calls() []Call {
	if a.Cut() {
		return nil
	}
	var calls []Call
	for _, b := range a.Message.Blocks() {
		if b.Type == TypeToolUse {
			calls = append(calls, Call{ID: b.ID, Name: b.Name, Input: objectOr(b.Input)})
		}
	}
	return calls
}
