package model

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// EventKind is the kind of an event of a stream.
type EventKind int

// The kinds of events.
const (
	TextDelta     EventKind = iota + 1 // Text is a piece of the answer
	ThinkingDelta                      // Text is a piece of the thinking
	CallStarted                        // Call has ID and Name, no input yet
	BackingOff                         // Backoff is set; deltas so far are void
	Finished                           // Answer is set; always the last event
	Growing                            // a part that is not shown arrived, such as the input of a call
	Queued                             // the request waits and has not been sent
	Sent                               // the request is about to be sent, at each attempt
)

func (k EventKind) String() string {
	switch k {
	case TextDelta:
		return "text delta"
	case ThinkingDelta:
		return "thinking delta"
	case CallStarted:
		return "call started"
	case BackingOff:
		return "backing off"
	case Finished:
		return "finished"
	case Growing:
		return "growing"
	case Queued:
		return "queued"
	case Sent:
		return "sent"
	}
	return fmt.Sprintf("event kind %d", int(k))
}

// Event is one event of a stream.
type Event struct {
	Kind    EventKind
	Text    string
	Call    Call
	Backoff *Backoff
	Answer  *Answer
}

// Backoff is why a request waits, and for how long.
type Backoff struct {
	Attempt     int // the attempt that failed, from 1; 0: it never started
	MaxAttempts int
	Delay       time.Duration // until the next attempt at the earliest
	Status      int           // HTTP status of the failure, 0 without
	Reason      string        // for people
}

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Stream sends r and yields the answer as it arrives. It yields last either Finished
	// or an error; the error is an *Error, or wraps the context's cause if the context
	// ended. Breaking the loop cancels the request. The sequence can be used once.
	Stream(ctx context.Context, r *Request) iter.Seq2[Event, error]
}

// Complete returns the whole answer.
func Complete(ctx context.Context, m Model, r *Request) (*Answer, error) {
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			return nil, err
		}
		if e.Kind == Finished {
			return e.Answer, nil
		}
	}
	return nil, &Error{Kind: Truncated, Message: "the stream ended without an answer"}
}
