package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Known block types; others are kept as raw JSON.
const (
	TypeText             = "text"
	TypeThinking         = "thinking"
	TypeRedactedThinking = "redacted_thinking"
	TypeToolUse          = "tool_use"
	TypeToolResult       = "tool_result"
	TypeImage            = "image"
)

// Block is one piece of a message. Type determines which fields are used.
type Block struct {
	Type string

	Text      string // text
	Thinking  string // thinking
	Signature string // thinking
	Data      string // redacted_thinking

	ID    string          // tool_use
	Name  string          // tool_use
	Input json.RawMessage // tool_use, a JSON object, written unchanged

	ToolUseID string // tool_result: the ID of the call it answers
	Content   string // tool_result: its text
	IsError   bool   // tool_result

	// Raw holds a block that the fields above cannot represent: an unknown type, an
	// image, a result with pictures, a text with citations. If set it is written, and
	// the other fields are only for reading.
	Raw json.RawMessage
}

// Text returns a block of plain text.
func Text(s string) Block { return Block{Type: TypeText, Text: s} }

// ToolUse returns a tool call of a model.
func ToolUse(id, name string, input json.RawMessage) Block {
	return Block{Type: TypeToolUse, ID: id, Name: name, Input: input}
}

// ToolResult returns the answer to the call with the given id.
func ToolResult(id, text string, isError bool) Block {
	return Block{Type: TypeToolResult, ToolUseID: id, Content: text, IsError: isError}
}

// Image returns a picture as base64 text of the media type (such as image/png).
func Image(mediaType, base64 string) Block {
	raw := []byte(`{"type":"image","source":{"type":"base64"`)
	raw = appendField(raw, "media_type", mediaType)
	raw = appendField(raw, "data", base64)
	return Block{Type: TypeImage, Raw: append(raw, "}}"...)}
}

// empty reports whether an API would refuse the block for having no content.
func (b Block) empty() bool {
	switch b.Type {
	case TypeText:
		return b.Raw == nil && strings.TrimSpace(b.Text) == ""
	case TypeThinking:
		return b.Raw == nil && b.Thinking == "" && b.Signature == ""
	case TypeToolUse, TypeToolResult, TypeRedactedThinking:
		return false
	}
	return len(b.Raw) == 0
}

// markable reports whether an API accepts a cache mark on the block.
func (b Block) markable() bool {
	switch b.Type {
	case TypeText, TypeToolUse, TypeToolResult, TypeImage:
		return !hasCacheMark(b.Raw)
	}
	return false
}

func (b Block) appendTo(dst []byte) []byte {
	if b.Raw != nil {
		return append(dst, b.Raw...)
	}
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, b.Type)
	switch b.Type {
	case TypeText:
		dst = appendField(dst, "text", b.Text)
	case TypeThinking:
		dst = appendField(dst, "thinking", b.Thinking)
		dst = appendField(dst, "signature", b.Signature)
	case TypeRedactedThinking:
		dst = appendField(dst, "data", b.Data)
	case TypeToolUse:
		dst = appendField(dst, "id", b.ID)
		dst = appendField(dst, "name", b.Name)
		dst = append(append(dst, `,"input":`...), objectOr(b.Input)...)
	case TypeToolResult:
		dst = b.appendResult(dst)
	}
	return append(dst, '}')
}

func (b Block) appendResult(dst []byte) []byte {
	dst = appendField(dst, "tool_use_id", b.ToolUseID)
	if b.Content != "" {
		dst = appendField(dst, "content", b.Content)
	}
	if b.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	return dst
}

// objectOr returns raw if it is a JSON object and otherwise {}, since one malformed input
// would make every later request of the conversation invalid.
func objectOr(raw json.RawMessage) json.RawMessage {
	t := bytes.TrimSpace(raw)
	if len(t) == 0 || t[0] != '{' || !json.Valid(t) {
		return json.RawMessage("{}")
	}
	return pairSurrogates(bytes.ToValidUTF8(t, []byte("\uFFFD")))
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// BlockFromRaw decodes one block in its wire form. The block keeps a copy of the bytes in
// Raw unless its other fields represent all of it.
func BlockFromRaw(raw json.RawMessage) (Block, error) {
	t := bytes.TrimSpace(raw)
	if len(t) == 0 || t[0] != '{' || !json.Valid(t) {
		return Block{}, errors.New("model: a content block is not a JSON object")
	}
	return decodeBlock(t), nil
}

// decodeBlock decodes one block; what its fields cannot represent goes to Raw.
func decodeBlock(raw json.RawMessage) Block {
	w, whole := decodeWire(raw)
	content, plain := decodeResultContent(w.Content)
	b := Block{
		Type: w.Type, Text: w.Text, Thinking: w.Thinking, Signature: w.Signature, Data: w.Data,
		ID: w.ID, Name: w.Name, Input: w.Input, ToolUseID: w.ToolUseID, Content: content, IsError: w.IsError,
	}
	switch w.Type {
	case TypeText, TypeThinking, TypeRedactedThinking, TypeToolUse:
		if whole && w.Content == nil {
			return b
		}
	case TypeToolResult:
		if whole && plain {
			return b
		}
	}
	b.Raw = bytes.Clone(raw)
	return b
}

func decodeWire(raw []byte) (w wireBlock, whole bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if d.Decode(&w) == nil {
		return w, true
	}
	w = wireBlock{}
	if json.Unmarshal(raw, &w) != nil {
		// A field of an unknown block may share a name but not a type.
		var t struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &t) == nil {
			w = wireBlock{Type: t.Type}
		}
	}
	return w, false
}

// decodeResultContent decodes the content of a tool_result, a string or a list of blocks;
// plain reports that it was one string.
func decodeResultContent(raw json.RawMessage) (text string, plain bool) {
	if len(raw) == 0 {
		return "", true
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	var parts []wireBlock
	if json.Unmarshal(raw, &parts) != nil {
		return "", false
	}
	var texts []string
	for _, p := range parts {
		if p.Type == TypeText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), false
}
