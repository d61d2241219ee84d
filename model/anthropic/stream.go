package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/internal/sse"
	"github.com/actorswarm/swarm/model/internal/transport"
	sdk "github.com/anthropics/anthropic-sdk-go"
)

// Stream sends one request. See model.Model.
func (c *Client) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		w := transport.Watch(cancel, c.idle, c.ping)
		defer w.Stop()
		res, err := c.send(inner, r)
		if err != nil {
			yield(model.Event{}, c.failure(ctx, inner, err, false))
			return
		}
		defer res.Body.Close()
		answer, err := c.read(res.Body, w, yield)
		switch {
		case errors.Is(err, errStopped):
		case err != nil:
			yield(model.Event{}, c.failure(ctx, inner, err, true))
		default:
			yield(model.Event{Kind: model.Finished, Answer: answer}, nil)
		}
	}
}

// errStopped reports that the consumer broke the loop.
var errStopped = errors.New("anthropic: the reader of the stream stopped")

// read yields events until the answer is complete.
func (c *Client) read(body io.Reader, w *transport.Watchdog, yield func(model.Event, error) bool) (*model.Answer, error) {
	events := sse.NewReader(body)
	var a accumulator
	w.OnContent()
	for !a.stopped {
		raw, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil, truncated("the stream ended before message_stop")
		}
		if err != nil {
			return nil, err
		}
		e, err := a.add(raw.Data)
		if err != nil {
			return nil, err
		}
		if a.ping {
			w.OnPing()
			continue
		}
		w.OnContent()
		if e.Kind == 0 {
			e.Kind = model.Growing
		}
		if !yield(e, nil) {
			return nil, errStopped
		}
	}
	answer, err := a.answer()
	if err == nil {
		w.Drain(body)
	}
	return answer, err
}

// failure converts an error to one on which callers branch.
func (c *Client) failure(outer, inner context.Context, err error, answering bool) error {
	if outer.Err() != nil {
		return model.Cancelled(outer)
	}
	var own *model.Error
	var api *sdk.Error
	switch {
	case errors.As(err, &own):
	case errors.Is(context.Cause(inner), transport.ErrSilent):
		own = &model.Error{Kind: model.Network, Message: "nothing came for too long", Err: transport.ErrSilent}
	case errors.As(err, &api):
		own = apiError(api)
	case answering:
		own = &model.Error{Kind: model.Truncated, Err: err}
	default:
		own = &model.Error{Kind: model.Network, Err: err}
	}
	own.Message = model.Redact(own.Message, c.secrets...)
	if own.Err != nil {
		if text := model.Redact(own.Err.Error(), c.secrets...); text != own.Err.Error() {
			own.Err = errors.New(text)
		}
	}
	return own
}

func apiError(api *sdk.Error) *model.Error {
	var header http.Header
	if api.Response != nil {
		header = api.Response.Header
	}
	typ, message := decodeError([]byte(api.RawJSON()))
	if message == "" {
		message = http.StatusText(api.StatusCode)
	}
	return model.NewError(api.StatusCode, typ, message, model.RetryAfter(header, time.Now()))
}

// decodeError reads {"type":"error","error":{"type":…,"message":…}}. A body in
// another form, such as the page of a proxy, is not shown to people.
func decodeError(body []byte) (typ, message string) {
	var w struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Details struct {
				Code string `json:"error_code"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &w) != nil {
		return "", ""
	}
	if w.Error.Details.Code != "" {
		return w.Error.Details.Code, w.Error.Message
	}
	return w.Error.Type, w.Error.Message
}
