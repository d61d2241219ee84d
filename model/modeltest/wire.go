package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/actorswarm/swarm/model"
)

// Wire is a protocol a Server can speak.
type Wire int

// The protocols.
const (
	Anthropic Wire = iota // POST /v1/messages
	OpenAI                // POST /chat/completions
)

func (w Wire) String() string { return [...]string{"anthropic", "openai"}[w] }

// events encodes an answer. The first complete of them contain the whole answer;
// the rest only closes the stream.
func (w Wire) events(r Reply) (events [][]byte, complete int) {
	if w == OpenAI {
		return openaiEvents(r)
	}
	events = anthropicEvents(r)
	return events, len(events)
}

func (w Wire) ping() []byte {
	if w == OpenAI {
		return []byte(": keep-alive\n\n")
	}
	return event("ping", obj{"type": "ping"})
}

// failure encodes an error for a body or, with inside, for a stream.
func (w Wire) failure(typ, text string, inside bool) []byte {
	body := obj{"type": "error", "error": obj{"type": typ, "message": text}}
	switch {
	case !inside:
		return encode(body)
	case w == OpenAI:
		return event("", obj{"error": obj{"type": typ, "message": text, "code": nil}})
	}
	return event("error", body)
}

type obj map[string]any

func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("modeltest: a reply cannot be encoded: " + err.Error())
	}
	return bytes.TrimSpace(buf.Bytes())
}

func event(name string, v any) []byte {
	if name == "" {
		return fmt.Appendf(nil, "data: %s\n\n", encode(v))
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encode(v))
}

func anthropicEvents(r Reply) [][]byte {
	events := [][]byte{event("message_start", obj{"type": "message_start", "message": obj{
		"id": "msg_test", "type": "message", "role": "assistant", "model": "test-model", "content": []any{},
		"usage": obj{
			"input_tokens": r.Usage.InputTokens, "output_tokens": 1,
			"cache_read_input_tokens": r.Usage.CacheReadInputTokens, "cache_creation_input_tokens": r.Usage.CacheCreationInputTokens,
		},
	}})}
	for i, b := range r.Blocks {
		events = append(events, anthropicBlock(i, b)...)
	}
	return append(events,
		event("message_delta", obj{
			"type": "message_delta", "delta": obj{"stop_reason": r.stopReason(), "stop_sequence": nil},
			"usage": obj{"output_tokens": r.Usage.OutputTokens},
		}),
		event("message_stop", obj{"type": "message_stop"}))
}

func anthropicBlock(i int, b model.Block) [][]byte {
	start, deltas := anthropicParts(b)
	events := [][]byte{event("content_block_start", obj{"type": "content_block_start", "index": i, "content_block": start})}
	for _, d := range deltas {
		events = append(events, event("content_block_delta", obj{"type": "content_block_delta", "index": i, "delta": d}))
	}
	return append(events, event("content_block_stop", obj{"type": "content_block_stop", "index": i}))
}

func anthropicParts(b model.Block) (start any, deltas []obj) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	switch b.Type {
	case model.TypeThinking:
		for _, p := range pieces(b.Thinking) {
			deltas = append(deltas, obj{"type": "thinking_delta", "thinking": p})
		}
		deltas = append(deltas, obj{"type": "signature_delta", "signature": b.Signature})
		return obj{"type": b.Type, "thinking": "", "signature": ""}, deltas
	case model.TypeRedactedThinking:
		return obj{"type": b.Type, "data": b.Data}, nil
	case model.TypeToolUse:
		for _, p := range pieces(string(b.Input)) {
			deltas = append(deltas, obj{"type": "input_json_delta", "partial_json": p})
		}
		return obj{"type": b.Type, "id": b.ID, "name": b.Name, "input": obj{}}, deltas
	}
	for _, p := range pieces(b.Text) {
		deltas = append(deltas, obj{"type": "text_delta", "text": p})
	}
	return obj{"type": model.TypeText, "text": ""}, deltas
}

func openaiEvents(r Reply) (events [][]byte, complete int) {
	chunk := func(delta obj, finish any) []byte {
		return event("", obj{
			"id": "chatcmpl_test", "object": "chat.completion.chunk", "model": "test-model",
			"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	events = append(events, chunk(obj{"role": "assistant", "content": ""}, nil), []byte(": a comment\n\n"))
	calls := 0
	for _, b := range r.Blocks {
		for _, d := range openaiDeltas(b, calls) {
			events = append(events, chunk(d, nil))
		}
		if b.Type == model.TypeToolUse {
			calls++
		}
	}
	events = append(events, chunk(obj{}, openaiFinish(r.stopReason())))
	complete = len(events)
	return append(events, event("", obj{
		"id": "chatcmpl_test", "choices": []any{}, "usage": obj{
			"prompt_tokens":     r.Usage.InputTokens + r.Usage.CacheReadInputTokens,
			"completion_tokens": r.Usage.OutputTokens, "prompt_tokens_details": obj{"cached_tokens": r.Usage.CacheReadInputTokens},
		},
	}), []byte("data: [DONE]\n\n")), complete
}

func openaiDeltas(b model.Block, call int) (deltas []obj) {
	switch b.Type {
	case model.TypeThinking:
		for _, p := range pieces(b.Thinking) {
			deltas = append(deltas, obj{"reasoning_content": p})
		}
	case model.TypeToolUse:
		deltas = append(deltas, obj{"tool_calls": []any{obj{
			"index": call, "id": b.ID, "type": "function", "function": obj{"name": b.Name, "arguments": ""},
		}}})
		for _, p := range pieces(string(b.Input)) {
			deltas = append(deltas, obj{"tool_calls": []any{obj{"index": call, "function": obj{"arguments": p}}}})
		}
	default:
		for _, p := range pieces(b.Text) {
			deltas = append(deltas, obj{"content": p})
		}
	}
	return deltas
}

func openaiFinish(stopReason string) string {
	switch stopReason {
	case model.StopToolUse:
		return "tool_calls"
	case model.StopMaxTokens:
		return "length"
	case "refusal":
		return "content_filter"
	}
	return "stop"
}
