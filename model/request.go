package model

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// DefaultMaxTokens bounds an answer if a Request does not.
const DefaultMaxTokens = 32_000

// minThinkingBudget is the smallest budget the API takes.
const minThinkingBudget = 1024

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// Caller identifies the agent of a request, for scripts, logs and fairness. It is never
// part of the body.
type Caller struct {
	Session string
	AgentID string // unique
	Agent   string // name shown to people
	Type    string // name of the definition
	Turn    int    // 0-based
	Step    int    // 0-based number of the request within the turn
}

// Request requests the next message of a conversation.
type Request struct {
	Model     string
	MaxTokens int               // of the answer; 0: DefaultMaxTokens
	System    []json.RawMessage // see EncodeSystem
	Tools     []json.RawMessage // see EncodeTool
	Messages  []Message
	Effort    string // low, medium, high, …; empty: the model's default
	// ThinkingBudget is in tokens; 0 asks for no extended thinking. It is
	// lowered to fit below MaxTokens.
	ThinkingBudget int
	Caller         Caller
}

// EncodeSystem returns the system block that holds text.
func EncodeSystem(text string) json.RawMessage { return Text(text).appendTo(nil) }

// EncodeTool returns the description of a tool with the schema's bytes unchanged. A missing
// or invalid schema becomes that of an object with any members.
func EncodeTool(name, description string, schema json.RawMessage) json.RawMessage {
	dst := append([]byte(nil), `{"name":`...)
	dst = appendString(dst, name)
	if description != "" {
		dst = appendField(dst, "description", description)
	}
	if schema = objectOr(schema); string(schema) == "{}" {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	dst = append(append(dst, `,"input_schema":`...), schema...)
	return append(dst, '}')
}

// AppendBody appends the body of the request in the form of Anthropic's Messages API with
// streaming. It only concatenates encoded bytes and inserts cache marks into the last tool,
// the last system block and the last message, so that it costs about a copy. It may be
// called concurrently.
func (r *Request) AppendBody(dst []byte) []byte {
	dst = slices.Grow(dst, r.bodySize())
	dst = r.appendHead(dst)
	if len(r.Tools) > 0 {
		dst = appendMarked(append(dst, `,"tools":[`...), r.Tools)
		dst = append(dst, ']')
	}
	if len(r.System) > 0 {
		dst = appendMarked(append(dst, `,"system":[`...), r.System)
		dst = append(dst, ']')
	}
	dst = append(dst, `,"messages":[`...)
	dst = appendMessages(dst, r.Messages)
	return append(dst, "]}"...)
}

func (r *Request) bodySize() int {
	n := 256 + 3*len(cacheMark) + len(r.Model) + len(r.Effort)
	for _, t := range r.Tools {
		n += len(t) + 1
	}
	for _, s := range r.System {
		n += len(s) + 1
	}
	for _, m := range r.Messages {
		n += len(m.raw) + 1
	}
	return n
}

func (r *Request) appendHead(dst []byte) []byte {
	limit := r.MaxTokens
	if limit <= 0 {
		limit = DefaultMaxTokens
	}
	dst = appendString(append(dst, `{"model":`...), r.Model)
	dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), int64(limit), 10)
	dst = append(dst, `,"stream":true`...)
	if budget := min(r.ThinkingBudget, limit-1); budget >= minThinkingBudget {
		dst = append(dst, `,"thinking":{"type":"enabled","budget_tokens":`...)
		dst = append(strconv.AppendInt(dst, int64(budget), 10), '}')
	}
	if r.Effort != "" {
		dst = appendString(append(dst, `,"output_config":{"effort":`...), r.Effort)
		dst = append(dst, '}')
	}
	return dst
}

// appendMarked appends JSON objects as a list with a cache mark on the last.
func appendMarked(dst []byte, objects []json.RawMessage) []byte {
	for i, o := range objects {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, o...)
	}
	last := objects[len(objects)-1]
	end := bytes.LastIndexByte(last, '}')
	if end < 0 || hasCacheMark(last) {
		return dst
	}
	return append(append(dst[:len(dst)-len(last)+end], cacheMark...), last[end:]...)
}

func appendMessages(dst []byte, messages []Message) []byte {
	last := len(messages) - 1
	for last >= 0 && messages[last].IsZero() {
		last--
	}
	first := true
	for i, m := range messages {
		if m.IsZero() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if i == last {
			dst = m.appendMarked(dst)
			continue
		}
		dst = append(dst, m.raw...)
	}
	return dst
}

func (m Message) appendMarked(dst []byte) []byte {
	switch {
	case m.mark == 0:
		return append(dst, m.raw...)
	case m.mark < 0:
		return newMessage(m.role, m.Blocks()).appendMarked(dst)
	}
	dst = append(dst, m.raw[:m.mark]...)
	dst = append(dst, cacheMark...)
	return append(dst, m.raw[m.mark:]...)
}

// hasCacheMark reports whether a JSON object has a member cache_control.
func hasCacheMark(raw []byte) bool {
	if !bytes.Contains(raw, []byte(`"cache_control"`)) {
		return false
	}
	var w struct {
		CacheControl json.RawMessage `json:"cache_control"`
	}
	return json.Unmarshal(raw, &w) != nil || w.CacheControl != nil
}
