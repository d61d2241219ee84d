package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Role is the author of a message.
type Role string

// The authors of a conversation.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// emptyContent replaces empty content: an API refuses a message without content and all
// requests after it.
const emptyContent = "(no content)"

// Message is one message of a conversation, held in its encoded form:
// {"role":…,"content":…} as in Anthropic's Messages API. The zero Message is left out of
// requests.
//
// A Message is immutable and safe for concurrent use.
type Message struct {
	raw  []byte
	role Role
	// mark is the position of a cache mark: before the closing brace of the last block
	// that may carry one. 0: nowhere; -1: content is one bare string.
	mark int
}

// UserMessage encodes a message of the user, which is everything but the model. It omits
// empty text blocks; a message without any others gets emptyContent.
func UserMessage(blocks ...Block) Message { return newMessage(RoleUser, blocks) }

// AssistantMessage encodes a message of the model. See UserMessage.
func AssistantMessage(blocks ...Block) Message { return newMessage(RoleAssistant, blocks) }

func newMessage(role Role, blocks []Block) Message {
	size := 40
	for _, b := range blocks {
		size += 100 + len(b.Raw) + len(b.Text) + len(b.Thinking) + len(b.Signature) + len(b.Data) + len(b.Input) + len(b.Content)
	}
	m := Message{role: role, raw: make([]byte, 0, size)}
	m.raw = append(m.raw, `{"role":"`...)
	m.raw = append(m.raw, role...)
	m.raw = append(m.raw, `","content":[`...)
	open := len(m.raw)
	for _, b := range blocks {
		m.add(b, open)
	}
	if len(m.raw) == open {
		m.add(Text(emptyContent), open)
	}
	m.raw = append(m.raw, "]}"...)
	return m
}

func (m *Message) add(b Block, open int) {
	if b.empty() {
		return
	}
	if b.Raw = bytes.TrimSpace(b.Raw); len(b.Raw) == 0 {
		b.Raw = nil
	} else if !json.Valid(b.Raw) || b.Raw[0] != '{' {
		panic(fmt.Sprintf("model: the raw form of a %q block is not a JSON object", b.Type))
	}
	if len(m.raw) > open {
		m.raw = append(m.raw, ',')
	}
	m.raw = b.appendTo(m.raw)
	if b.markable() {
		m.mark = len(m.raw) - 1
	}
}

// MessageFromRaw returns a message in its wire form and keeps the bytes exactly. It copies
// raw.
func MessageFromRaw(raw []byte) (Message, error) {
	m := Message{raw: bytes.Clone(raw)}
	if err := m.scan(); err != nil {
		return Message{}, fmt.Errorf("model: read a message of %d bytes: %w", len(raw), err)
	}
	return m, nil
}

var (
	errNoContent = errors.New("its content is empty")
	errRole      = errors.New(`its role is neither "user" nor "assistant"`)
)

// scan sets role and mark from raw.
func (m *Message) scan() error {
	content, at, err := m.scanFields()
	switch {
	case err != nil:
		return err
	case m.role != RoleUser && m.role != RoleAssistant:
		return errRole
	case len(content) == 0:
		return errNoContent
	case content[0] == '"':
		m.mark = -1
		if strings.TrimSpace(string(content[1:len(content)-1])) == "" {
			return errNoContent
		}
		return nil
	}
	return m.scanBlocks(content, at)
}

// scanFields returns the bytes of the content and their position.
func (m *Message) scanFields() (content []byte, at int, err error) {
	if !json.Valid(m.raw) {
		return nil, 0, errors.New("it is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(m.raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, 0, errors.New("it is not a JSON object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, 0, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, 0, err
		}
		switch key {
		case "role":
			if err := json.Unmarshal(v, &m.role); err != nil {
				return nil, 0, errRole
			}
		case "content":
			at = int(d.InputOffset()) - len(v)
			content = v
		}
	}
	return content, at, nil
}

func (m *Message) scanBlocks(content []byte, at int) error {
	d := json.NewDecoder(bytes.NewReader(content))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("its content is neither a string nor a list of blocks")
	}
	n := 0
	for ; d.More(); n++ {
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		if v[0] != '{' {
			return fmt.Errorf("its content block %d is not an object", n)
		}
		if b := decodeBlock(v); b.markable() && !b.empty() {
			m.mark = at + int(d.InputOffset()) - 1
		}
	}
	if n == 0 {
		return errNoContent
	}
	return nil
}

// Raw returns the encoded message. The caller must not change the bytes.
func (m Message) Raw() []byte { return m.raw }

// Role returns the author; it is empty for the zero Message.
func (m Message) Role() Role { return m.role }

// IsZero reports whether m is the zero Message.
func (m Message) IsZero() bool { return len(m.raw) == 0 }

// Blocks decodes the content, anew at each call. Content that is one bare
// string is one text block.
func (m Message) Blocks() []Block {
	if m.IsZero() {
		return nil
	}
	var w struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(m.raw, &w); err != nil {
		panic("model: a message holds bytes that are not JSON: " + err.Error())
	}
	if m.mark < 0 {
		var text string
		if err := json.Unmarshal(w.Content, &text); err != nil {
			panic("model: a message lost its text: " + err.Error())
		}
		return []Block{Text(text)}
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(w.Content, &raws); err != nil {
		panic("model: a message lost its blocks: " + err.Error())
	}
	blocks := make([]Block, len(raws))
	for i, raw := range raws {
		blocks[i] = decodeBlock(raw)
	}
	return blocks
}

// Text returns the text blocks of the message, joined by newlines.
func (m Message) Text() string {
	var parts []string
	for _, b := range m.Blocks() {
		if b.Type == TypeText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// MarshalJSON returns the bytes of Raw, or null for the zero Message. Beware
// that json.Marshal escapes HTML in what this returns: to keep the bytes, use
// an Encoder with SetEscapeHTML(false), or Raw.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return m.raw, nil
}

// UnmarshalJSON is MessageFromRaw; null makes the zero Message.
func (m *Message) UnmarshalJSON(raw []byte) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		*m = Message{}
		return nil
	}
	got, err := MessageFromRaw(raw)
	if err != nil {
		return err
	}
	*m = got
	return nil
}
