package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/model"
)

type wireRequest struct {
	Model               string        `json:"model"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitempty"`
	Tools               []wireTool    `json:"tools,omitempty"`
	Messages            []wireMessage `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // string, []wirePart or nil
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wirePart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *wireImage `json:"image_url,omitempty"`
}

type wireImage struct {
	URL string `json:"url"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// noContent replaces an empty text where the protocol requires one.
const noContent = "(no content)"

// body translates a request.
func (c *Client) body(r *model.Request) ([]byte, error) {
	w := wireRequest{Model: r.Model, Stream: true, StreamOptions: streamOptions{true}, ReasoningEffort: r.Effort}
	// OpenAI's newer models refuse the name that all other endpoints use.
	if strings.HasPrefix(c.url, "https://api.openai.com/") {
		w.MaxCompletionTokens = r.MaxTokens
	} else {
		w.MaxTokens = r.MaxTokens
	}
	for i, raw := range r.Tools {
		t, ok, err := translateTool(raw)
		if err != nil {
			return nil, fmt.Errorf("openai: tool %d cannot be translated: %w", i, err)
		}
		if ok {
			w.Tools = append(w.Tools, t)
		}
	}
	system, err := systemText(r.System)
	if err != nil {
		return nil, err
	}
	if system != "" {
		w.Messages = append(w.Messages, wireMessage{Role: "system", Content: system})
	}
	for _, m := range r.Messages {
		w.Messages = append(w.Messages, translate(m)...)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(w); err != nil {
		return nil, fmt.Errorf("openai: encode the request: %w", err)
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// translateTool reports false for a tool that only Anthropic's servers can run.
func translateTool(raw json.RawMessage) (wireTool, bool, error) {
	var t struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return wireTool{}, false, err
	}
	return wireTool{"function", wireFunction{t.Name, t.Description, t.Schema}}, t.Schema != nil, nil
}

func systemText(blocks []json.RawMessage) (string, error) {
	var parts []string
	for i, raw := range blocks {
		b, err := model.BlockFromRaw(raw)
		if err != nil {
			return "", fmt.Errorf("openai: system block %d: %w", i, err)
		}
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n\n"), nil
}

func translate(m model.Message) []wireMessage {
	switch m.Role() {
	case model.RoleAssistant:
		return []wireMessage{translateAnswer(m.Blocks())}
	case model.RoleUser:
		return translateUser(m.Blocks())
	}
	return nil
}

func translateAnswer(blocks []model.Block) wireMessage {
	w := wireMessage{Role: "assistant"}
	var texts []string
	for _, b := range blocks {
		switch b.Type {
		case model.TypeText:
			texts = append(texts, b.Text)
		case model.TypeToolUse:
			call := wireCall{ID: b.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = b.Name, string(b.Input)
			w.ToolCalls = append(w.ToolCalls, call)
		}
	}
	switch {
	case len(texts) > 0:
		w.Content = strings.Join(texts, "\n")
	case len(w.ToolCalls) == 0:
		w.Content = noContent
	}
	return w
}

// translateUser puts results first, as they must follow the calls they answer,
// and pictures last, as only the user may show some.
func translateUser(blocks []model.Block) (messages []wireMessage) {
	var parts []wirePart
	for _, b := range blocks {
		switch b.Type {
		case model.TypeToolResult:
			messages = append(messages, wireMessage{Role: "tool", ToolCallID: b.ToolUseID, Content: resultText(b)})
			parts = append(parts, pictures(b.Raw)...)
		case model.TypeText:
			parts = append(parts, wirePart{Type: "text", Text: b.Text})
		case model.TypeImage:
			parts = append(parts, picture(b.Raw)...)
		}
	}
	switch {
	case len(parts) == 1 && parts[0].Type == "text":
		return append(messages, wireMessage{Role: "user", Content: parts[0].Text})
	case len(parts) > 0:
		return append(messages, wireMessage{Role: "user", Content: parts})
	case len(messages) == 0:
		return []wireMessage{{Role: "user", Content: noContent}}
	}
	return messages
}

// resultText expresses in words what the protocol has no flag for.
func resultText(b model.Block) string {
	text := b.Content
	if text == "" {
		text = noContent
	}
	if b.IsError {
		return "ERROR: " + text
	}
	return text
}

// pictures returns the pictures of a result.
func pictures(result json.RawMessage) (parts []wirePart) {
	var w struct {
		Content []json.RawMessage `json:"content"`
	}
	if len(result) == 0 || json.Unmarshal(result, &w) != nil {
		return nil // its content is one text
	}
	for _, raw := range w.Content {
		parts = append(parts, picture(raw)...)
	}
	return parts
}

func picture(raw json.RawMessage) []wirePart {
	var w struct {
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
			URL       string `json:"url"`
		} `json:"source"`
	}
	if json.Unmarshal(raw, &w) != nil {
		return nil
	}
	switch w.Source.Type {
	case "base64":
		return []wirePart{{Type: "image_url", ImageURL: &wireImage{"data:" + w.Source.MediaType + ";base64," + w.Source.Data}}}
	case "url":
		return []wirePart{{Type: "image_url", ImageURL: &wireImage{w.Source.URL}}}
	}
	return nil
}
