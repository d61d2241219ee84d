package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/model"
)

// Turn answers one request. It is also a Model that answers every request, called
// concurrently, and keeps none of them.
type Turn func(ctx context.Context, r *model.Request) (*model.Answer, error)

// Fake is a Model made of Go functions.
type Fake struct {
	next func(n int) Turn

	mu       sync.Mutex
	requests []model.Request // guarded by mu
}

var _ model.Model = (*Fake)(nil)

// Script answers the n-th request with the n-th turn, and requests beyond the
// last with an error.
func Script(turns ...Turn) *Fake {
	return &Fake{next: func(n int) Turn {
		if n < len(turns) {
			return turns[n]
		}
		return Fail(&model.Error{Kind: model.Invalid, Message: fmt.Sprintf("request %d came to a script of %d turns", n+1, len(turns))})
	}}
}

// Each answers every request with the same function, which is called concurrently.
func Each(turn Turn) *Fake { return &Fake{next: func(int) Turn { return turn }} }

// Text is a turn that answers with a text.
func Text(s string) Turn { return Blocks(model.Text(s)) }

// Call is a turn that uses a tool. The input is encoded as JSON.
func Call(id, name string, input any) Turn {
	return func(context.Context, *model.Request) (*model.Answer, error) {
		raw, err := json.Marshal(input)
		if err != nil {
			return nil, fmt.Errorf("modeltest: the input of %s: %w", name, err)
		}
		return Answer(model.ToolUse(id, name, raw)), nil
	}
}

// Blocks is a turn with any content.
func Blocks(blocks ...model.Block) Turn {
	return func(context.Context, *model.Request) (*model.Answer, error) { return Answer(blocks...), nil }
}

// Fail is a turn that ends in an error.
func Fail(err error) Turn {
	return func(context.Context, *model.Request) (*model.Answer, error) { return nil, err }
}

// Hang is a turn that ends only with its context.
func Hang() Turn {
	return func(ctx context.Context, _ *model.Request) (*model.Answer, error) {
		<-ctx.Done()
		return nil, model.Cancelled(ctx)
	}
}

// Answer is a complete answer of the blocks.
func Answer(blocks ...model.Block) *model.Answer {
	return &model.Answer{
		ID: "msg_fake", Model: "fake", Message: model.AssistantMessage(blocks...),
		StopReason: Reply{Blocks: blocks}.stopReason(), Usage: model.Usage{InputTokens: 1, OutputTokens: 1},
	}
}

// Requests returns copies of the requests so far, in order.
func (f *Fake) Requests() []model.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Stream answers with the next turn.
func (f *Fake) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return Turn(func(ctx context.Context, r *model.Request) (*model.Answer, error) { return f.record(r)(ctx, r) }).Stream(ctx, r)
}

// Stream yields the answer of t in pieces.
func (t Turn) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		answer, err := t(ctx, r)
		if err == nil && ctx.Err() != nil {
			err = model.Cancelled(ctx)
		}
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		for _, e := range deltas(answer) {
			if !yield(e, nil) {
				return
			}
		}
		yield(model.Event{Kind: model.Finished, Answer: answer}, nil)
	}
}

func (f *Fake) record(r *model.Request) Turn {
	kept := *r
	kept.Messages = slices.Clone(r.Messages)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, kept)
	return f.next(len(f.requests) - 1)
}

func deltas(a *model.Answer) (events []model.Event) {
	for _, b := range a.Message.Blocks() {
		switch b.Type {
		case model.TypeText:
			for _, p := range pieces(b.Text) {
				events = append(events, model.Event{Kind: model.TextDelta, Text: p})
			}
		case model.TypeThinking:
			events = append(events, model.Event{Kind: model.ThinkingDelta, Text: b.Thinking})
		case model.TypeToolUse:
			events = append(events, model.Event{Kind: model.CallStarted, Call: model.Call{ID: b.ID, Name: b.Name}})
		}
	}
	return events
}
