package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/model"
)

// accumulator builds an answer from the chunks of one stream.
type accumulator struct {
	asked          int
	id, model      string
	finish         string
	usage          model.Usage
	text, thinking strings.Builder
	refusal        strings.Builder
	calls          []*call
	at             map[int]*call // by the index the endpoint gives
}

// call grows by deltas.
type call struct {
	id, name  string
	reported  bool // reported to observers
	arguments strings.Builder
}

type wireChunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int       `json:"index"`
		Delta        wireDelta `json:"delta"`
		FinishReason string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *wireUsage `json:"usage"`
}

type wireDelta struct {
	Content          string      `json:"content"`
	ReasoningContent string      `json:"reasoning_content"`
	Reasoning        string      `json:"reasoning"`
	Refusal          string      `json:"refusal"`
	ToolCalls        []deltaCall `json:"tool_calls"`
}

type deltaCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; with some servers an object
	} `json:"function"`
}

type wireUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func truncated(format string, args ...any) *model.Error {
	return &model.Error{Kind: model.Truncated, Message: fmt.Sprintf(format, args...)}
}

// add applies one chunk and returns the events for observers.
func (a *accumulator) add(data []byte) ([]model.Event, error) {
	var w wireChunk
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, truncated("a chunk is not of the known form: %v", err)
	}
	if f, found := decodeFailure(data); found && len(w.Error) > 0 {
		return nil, model.NewError(f.status, f.typ, f.message, 0)
	}
	if w.ID != "" {
		a.id = w.ID
	}
	if w.Model != "" {
		a.model = w.Model
	}
	if u := w.Usage; u != nil {
		cached := min(u.Details.Cached, u.Prompt)
		a.usage = model.Usage{InputTokens: u.Prompt - cached, OutputTokens: u.Completion, CacheReadInputTokens: cached}
	}
	var news []model.Event
	for _, choice := range w.Choices {
		if choice.Index != 0 {
			continue // only one answer was requested
		}
		more, err := a.extend(&choice.Delta)
		if err != nil {
			return nil, err
		}
		news = append(news, more...)
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	return news, nil
}

func (a *accumulator) extend(d *wireDelta) (news []model.Event, err error) {
	thinking := d.ReasoningContent
	if thinking == "" {
		thinking = d.Reasoning // some endpoints send both, with the same text
	}
	if a.finish != "" && (d.Content != "" || thinking != "" || len(d.ToolCalls) > 0) {
		return nil, truncated("content came after the finish reason")
	}
	a.thinking.WriteString(thinking)
	a.text.WriteString(d.Content)
	a.refusal.WriteString(d.Refusal)
	if thinking != "" {
		news = append(news, model.Event{Kind: model.ThinkingDelta, Text: thinking})
	}
	if d.Content != "" {
		news = append(news, model.Event{Kind: model.TextDelta, Text: d.Content})
	}
	for i := range d.ToolCalls {
		if c := a.grow(&d.ToolCalls[i]); !c.reported && c.name != "" {
			c.reported = true
			news = append(news, model.Event{Kind: model.CallStarted, Call: model.Call{ID: c.id, Name: c.name}})
		}
	}
	if len(news) == 0 && len(d.ToolCalls) > 0 {
		news = append(news, model.Event{Kind: model.Growing})
	}
	return news, nil
}

// grow adds to the call that a delta belongs to. An endpoint that sends whole
// calls may give all of them one index; their ids then differ.
func (a *accumulator) grow(d *deltaCall) *call {
	c := a.at[d.Index]
	if c == nil || d.ID != "" && c.id != d.ID {
		c = &call{id: d.ID}
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d_%d", a.asked, len(a.calls))
		}
		a.calls, a.at[d.Index] = append(a.calls, c), c
	}
	if c.name == "" {
		c.name = d.Function.Name
	}
	var text string
	if json.Unmarshal(d.Function.Arguments, &text) == nil {
		c.arguments.WriteString(text)
	} else {
		c.arguments.Write(d.Function.Arguments)
	}
	return c
}

// answer checks that the answer is complete and returns it.
func (a *accumulator) answer() (*model.Answer, error) {
	switch {
	case a.finish == "":
		return nil, truncated("the stream ended without a finish reason")
	case a.finish == "error":
		return nil, &model.Error{Kind: model.Server, Status: 200, Type: a.finish, Message: "the endpoint gave up in the middle of the answer"}
	case a.finish == "content_filter", a.refusal.Len() > 0 && a.text.Len() == 0 && len(a.calls) == 0:
		return nil, &model.Error{Kind: model.Refused, Status: 200, Type: a.finish, Message: a.refusal.String()}
	}
	stop := stopReason(a.finish, len(a.calls) > 0)
	blocks := []model.Block{
		{Type: model.TypeThinking, Thinking: a.thinking.String()},
		model.Text(a.text.String()),
	}
	for _, c := range a.calls {
		input, err := c.input()
		if err != nil && !model.IsCutReason(stop) {
			return nil, err
		}
		blocks = append(blocks, model.ToolUse(c.id, c.name, input))
	}
	return model.NewAnswer(a.id, a.model, stop, a.usage, blocks)
}

func (c *call) input() (json.RawMessage, error) {
	input := bytes.TrimSpace([]byte(c.arguments.String()))
	switch {
	case c.name == "":
		return nil, truncated("a tool call has no name")
	case len(input) == 0:
		return json.RawMessage("{}"), nil
	case input[0] != '{' || !json.Valid(input):
		return nil, truncated("the input of a call of %s is not a JSON object", c.name)
	}
	return input, nil
}

// stopReason gives a finish reason its name in package model. Some endpoints
// report stop also when there are calls.
func stopReason(finish string, calls bool) string {
	switch finish {
	case "length":
		return model.StopMaxTokens
	case "stop", "eos", "end_turn":
		if calls {
			return model.StopToolUse
		}
		return model.StopEndTurn
	case "tool_calls", "function_call":
		return model.StopToolUse
	}
	return finish
}

// failure is an error as an endpoint reports it.
type failure struct {
	status       int // 200 if the error has none
	typ, message string
}

// decodeFailure reads the forms in use: {"error":{"message","type","code"}},
// {"error":"text"} and {"message":"text"}. A code that is a number is a status.
func decodeFailure(body []byte) (failure, bool) {
	f := failure{status: http.StatusOK}
	var w struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Object  string          `json:"object"`
	}
	if json.Unmarshal(body, &w) != nil {
		return f, false
	}
	if len(w.Error) == 0 || string(w.Error) == "null" {
		f.message = w.Message
		return f, w.Message != ""
	}
	if json.Unmarshal(w.Error, &f.message) == nil {
		return f, true
	}
	var e struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(w.Error, &e) != nil {
		return f, true
	}
	f.typ, f.message = e.Type, e.Message
	var code string
	if json.Unmarshal(e.Code, &code) == nil && code != "" {
		f.typ = code
	} else if n, err := strconv.Atoi(string(e.Code)); err == nil && n >= 400 && n < 600 {
		f.status = n
	}
	return f, true
}
