package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/model"
)

// block grows by deltas.
type block struct {
	model.Block               // as it began
	text, thinking, signature strings.Builder
	input                     strings.Builder
	citations                 []json.RawMessage
	closed                    bool
}

func newBlock(raw json.RawMessage) (*block, error) {
	b, err := model.BlockFromRaw(raw)
	if err != nil {
		return nil, err
	}
	if b.Type == model.TypeToolUse && (b.ID == "" || b.Name == "") {
		return nil, errors.New("a tool call has no id or no name")
	}
	return &block{Block: b}, nil
}

func (b *block) extend(d *wireDelta) error {
	accepts := func(types ...string) error {
		for _, t := range types {
			if b.Type == t {
				return nil
			}
		}
		return fmt.Errorf("%s came for a block of type %s", d.Type, b.Type)
	}
	switch d.Type {
	case "text_delta":
		b.text.WriteString(d.Text)
		return accepts(model.TypeText)
	case "thinking_delta":
		b.thinking.WriteString(d.Thinking)
		return accepts(model.TypeThinking)
	case "signature_delta":
		b.signature.WriteString(d.Signature)
		return accepts(model.TypeThinking)
	case "citations_delta":
		b.citations = append(b.citations, d.Citation)
		return accepts(model.TypeText)
	case "input_json_delta":
		b.input.WriteString(d.PartialJSON)
		if b.Type == model.TypeText || b.Type == model.TypeThinking {
			return accepts(model.TypeToolUse)
		}
	}
	return nil
}

// finish returns the complete block. The error, which only invalid input causes, comes with
// a block that can still be left out.
func (b *block) finish() (model.Block, error) {
	whole := b.Block
	whole.Text += b.text.String()
	whole.Thinking += b.thinking.String()
	whole.Signature += b.signature.String()
	var err error
	if b.input.Len() > 0 {
		whole.Input = bytes.TrimSpace([]byte(b.input.String()))
		if !json.Valid(whole.Input) || whole.Input[0] != '{' && b.Type == model.TypeToolUse {
			whole.Input = json.RawMessage("{}")
			err = errors.New("the input of a tool call is not a JSON object")
		}
	}
	if whole.Raw == nil && len(b.citations) == 0 {
		return whole, err
	}
	whole.Raw = b.raw(whole)
	return whole, err
}

// raw inserts the content of the deltas into the bytes with which the block began.
func (b *block) raw(whole model.Block) json.RawMessage {
	raw := b.Raw
	if raw == nil {
		raw = json.RawMessage(`{"type":"text"}`)
	}
	if b.text.Len() > 0 || b.Raw == nil {
		raw = withMember(raw, "text", quote(whole.Text))
	}
	if b.thinking.Len() > 0 {
		raw = withMember(raw, "thinking", quote(whole.Thinking))
	}
	if b.signature.Len() > 0 {
		raw = withMember(raw, "signature", quote(whole.Signature))
	}
	if b.input.Len() > 0 {
		raw = withMember(raw, "input", whole.Input)
	}
	if len(b.citations) > 0 {
		list := append([]byte{'['}, bytes.Join(rawBytes(b.citations), []byte{','})...)
		raw = withMember(raw, "citations", append(list, ']'))
	}
	return raw
}

func rawBytes(raws []json.RawMessage) [][]byte {
	out := make([][]byte, 0, len(raws))
	for _, r := range raws {
		if len(r) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// quote encodes s without the HTML escapes that json.Marshal adds.
func quote(s string) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("anthropic: a string cannot be encoded: " + err.Error())
	}
	return bytes.TrimSpace(buf.Bytes())
}

// withMember sets one member of a JSON object and keeps the order and the bytes
// of the others.
func withMember(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	out, done := []byte{'{'}, false
	if _, err := d.Token(); err != nil {
		return object
	}
	add := func(k string, v json.RawMessage) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(k)...), ':'), v...)
	}
	for d.More() {
		t, err := d.Token()
		var v json.RawMessage
		if err != nil || d.Decode(&v) != nil {
			return object
		}
		k, _ := t.(string)
		if k == key {
			v, done = value, true
		}
		add(k, v)
	}
	if !done {
		add(key, value)
	}
	return append(out, '}')
}
