package modeltest

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/actorswarm/swarm/model"
)

// Reply is how the server answers one request. The zero Reply is an answer
// with no content.
type Reply struct {
	Delay  time.Duration // before the status line
	Status int           // 0: 200
	Header http.Header

	Blocks     []model.Block // the answer; text goes out in several deltas
	StopReason string        // empty: tool_use if there is a call, else end_turn
	Usage      model.Usage

	// After events of the answer, one of these happens, in this order of
	// preference. Without any of them, After means nothing.
	After     int
	Pings     time.Duration // only keep-alives from here on, each so far apart
	Stall     bool          // silence until the client goes
	Cut       bool          // the connection breaks
	ErrorType string        // an error inside the stream, or the body with Status ≥ 400
	ErrorText string

	Raw []byte // sent instead of everything else but Status and Header

	Ended func() // called when the request is over, unless nil
}

// Say is an answer of text.
func Say(text string) Reply { return Reply{Blocks: []model.Block{model.Text(text)}} }

// ToolCall is an answer that calls a tool; input is JSON.
func ToolCall(id, name, input string) Reply {
	return Reply{Blocks: []model.Block{model.ToolUse(id, name, []byte(input))}}
}

// Error is a refusal with an HTTP status.
func Error(status int, typ, text string) Reply {
	return Reply{Status: status, ErrorType: typ, ErrorText: text}
}

func (r Reply) status() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

func (r Reply) stopReason() string {
	if r.StopReason != "" {
		return r.StopReason
	}
	for _, b := range r.Blocks {
		if b.Type == model.TypeToolUse {
			return model.StopToolUse
		}
	}
	return model.StopEndTurn
}

// pieces cuts s into about four parts without cutting a character.
func pieces(s string) []string {
	size := len(s)/4 + 1
	var parts []string
	for len(s) > size {
		end := size
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		parts, s = append(parts, s[:end]), s[end:]
	}
	return append(parts, s)
}
