package turn

import (
	"fmt"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
)

// DefaultWindow is the context window, in tokens, of a model without a known one.
const DefaultWindow = 200_000

// Shares of the window. A request takes at most full of it, which leaves room for the
// answer; new results and mail of one request take at most fresh; a compaction keeps about
// tail unchanged.
const (
	full  = 0.80
	fresh = 0.50
	tail  = 0.20
)

// FullError reports a conversation that leaves no room for another request and
// cannot be compacted any further.
type FullError struct {
	Model  string
	Tokens int64 // of the next request, at least
	Window int64
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the conversation needs %d tokens and cannot be compacted further, and a request may take %d of the %d that the window of %s holds: start the agent anew, or give it a model with a larger window",
		e.Tokens, int64(full*float64(e.Window)), e.Window, e.Model)
}

// gauge measures a conversation against the window of its model.
type gauge struct {
	window  float64 // tokens
	used    float64 // tokens of the conversation without new content
	ratio   float64 // bytes a token
	counted bool    // used relies on the model's own count
}

// Bytes a token: the guess before the model has counted, and the bounds of the ratio that
// is derived from its count.
const (
	guessedRatio = 3.0
	minRatio     = 1.5
	maxRatio     = 4.0
)

// measure measures the conversation before the next request.
func (t *Turn) measure(d transcript.Draft) gauge {
	if t.ratio == 0 {
		t.ratio = guessedRatio
	}
	g := gauge{window: float64(t.window()), counted: d.Counted.Tokens > 0}
	own := t.ratio
	if g.counted {
		own = float64(t.fixed()+d.Counted.Bytes) / float64(d.Counted.Tokens)
		t.ratio = min(max(own, minRatio), maxRatio)
	}
	g.ratio = t.ratio
	if n := min(d.Counted.Messages, len(d.Messages)); n > 0 {
		g.used = float64(d.Counted.Tokens) + g.tokens(bytesOf(d.Messages[n:]))
	} else {
		g.used = float64(t.fixed()+bytesOf(d.Messages)) / own
	}
	return g
}

// window returns the window of the model in tokens. It becomes smaller when the provider
// refuses a request.
func (t *Turn) window() int64 {
	w := t.Window
	if w <= 0 {
		w = DefaultWindow
	}
	if t.refused > 0 {
		w = min(w, t.refused)
	}
	return w
}

// fixed returns the size in bytes of the part that all requests share.
func (t *Turn) fixed() int {
	n := 0
	for _, raw := range t.Base.System {
		n += len(raw)
	}
	for _, raw := range t.Base.Tools {
		n += len(raw)
	}
	return n
}

func bytesOf(msgs []model.Message) int {
	n := 0
	for _, m := range msgs {
		n += len(m.Raw())
	}
	return n
}

// tokens estimates the tokens of bytes that the model has not counted.
func (g gauge) tokens(bytes int) float64 { return float64(bytes) / g.ratio }

// free returns how many tokens the next request may add. A fiftieth of the window is
// reserved for the frames of messages and for estimates that are too low.
func (g gauge) free() float64 {
	free := full*g.window - g.used - g.window/50
	if !g.counted {
		// An estimate alone does not block a request: the provider decides.
		free = max(free, g.window/16)
	}
	return free
}

// room is free in bytes; share is the part of the window for results and mail.
func (g gauge) room() int  { return int(max(g.free(), 0) * g.ratio) }
func (g gauge) share() int { return int(fresh * g.window * g.ratio) }

// mustCompact reports whether new content of these sizes needs a compaction first.
// Prompts can hardly be shortened, other content can.
func (g gauge) mustCompact(prompts, others int) bool {
	waits := min(g.tokens(prompts), 0.6*g.window) + min(g.tokens(others), g.window/4)
	return g.used+waits > (full-0.02)*g.window
}

// maxAnswer bounds the tokens of the answer to a request of that size. It changes in
// steps, so that similar requests have the same bound.
func (g gauge) maxAnswer(most int, size float64) int {
	if most == 0 {
		most = model.DefaultMaxTokens
	}
	step := max(g.window/16, 1)
	if float64(most) <= g.window/5 {
		return most // every request leaves that much
	}
	return min(most, int(max((g.window-size)/step, 2))*int(step))
}
