package turn

import (
	"fmt"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
)

// DefaultWindow is the context window, in tokens, of a model of which nobody
// says more.
const DefaultWindow = 200_000

// Shares of the window. A request never takes more than full of it, so that
// there is room for the answer; results and mail that are new in one request at
// most fresh; what a compaction keeps word for word about tail.
const (
	full  = 0.80
	fresh = 0.50
	tail  = 0.20
)

// FullError reports a conversation that leaves no room for another request and
// cannot be compacted any further.
type FullError struct {
	Model  string
	Tokens int64 // of the next request at the least
	Window int64
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the conversation needs %d tokens and cannot be compacted further, and a request may take %d of the %d that the window of %s holds: start the agent anew, or give it a model with a larger window",
		e.Tokens, int64(full*float64(e.Window)), e.Window, e.Model)
}

// gauge measures a conversation against the window of its model.
type gauge struct {
	window float64 // tokens
	used   float64 // tokens of the conversation without what waits
	ratio  float64 // bytes a token
	sure   bool    // used rests on the model's own count
}

// Bytes a token: as guessed while the model has counted nothing, and the bounds
// of what is believed of its count for what it has not seen yet.
const (
	guessedRatio = 3.0
	leastRatio   = 1.5
	mostRatio    = 4.0
)

// measure sizes up the next request.
func (t *Turn) measure(d transcript.Draft) gauge {
	if t.ratio == 0 {
		t.ratio = guessedRatio
	}
	g := gauge{window: float64(t.window()), sure: d.Counted.Tokens > 0}
	own := t.ratio
	if g.sure {
		own = float64(t.fixed()+d.Counted.Bytes) / float64(d.Counted.Tokens)
		t.ratio = min(max(own, leastRatio), mostRatio)
	}
	g.ratio = t.ratio
	if n := min(d.Counted.Messages, len(d.Messages)); n > 0 {
		g.used = float64(d.Counted.Tokens) + g.tokens(bytesOf(d.Messages[n:]))
	} else {
		g.used = float64(t.fixed()+bytesOf(d.Messages)) / own
	}
	return g
}

// window returns the tokens that the model takes, as far as is known: less than
// was thought once it has refused a request.
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

// fixed is the size in bytes of what every request begins with.
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

// tokens estimates what bytes that the model has not counted will come to.
func (g gauge) tokens(bytes int) float64 { return float64(bytes) / g.ratio }

// free is how many tokens the next request may add. The fiftieth of the window
// that is held back is for the wrapping of messages and what is guessed too low.
func (g gauge) free() float64 {
	free := full*g.window - g.used - g.window/50
	if !g.sure {
		// An estimate alone shuts nobody out: the provider knows better.
		free = max(free, g.window/16)
	}
	return free
}

// room is free in bytes; share is what results and mail may take of it.
func (g gauge) room() int  { return int(max(g.free(), 0) * g.ratio) }
func (g gauge) share() int { return int(fresh * g.window * g.ratio) }

// crowded says that what waits, in bytes, should not go in before a compaction:
// prompts can hardly be shortened, all else can.
func (g gauge) crowded(prompts, others int) bool {
	waits := min(g.tokens(prompts), 0.6*g.window) + min(g.tokens(others), g.window/4)
	return g.used+waits > (full-0.02)*g.window
}

// answer bounds the tokens of an answer to what a request of that size leaves.
// It moves in steps, so that requests that differ little are asked for alike.
func (g gauge) answer(most int, size float64) int {
	if most == 0 {
		most = model.DefaultMaxTokens
	}
	step := max(g.window/16, 1)
	if float64(most) <= g.window/5 {
		return most // every request leaves that much
	}
	return min(most, int(max((g.window-size)/step, 2))*int(step))
}
