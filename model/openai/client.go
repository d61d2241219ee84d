// Package openai reaches models through any OpenAI-compatible endpoint that
// serves POST /chat/completions: OpenAI, Ollama, vLLM, OpenRouter and others.
//
//	client, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1:11434/v1"})
//	request := &model.Request{Model: "qwen3", Messages: conversation}
//	answer, err := model.Complete(ctx, client, request) // or client.Stream
//
// Laws:
//
//   - A conversation is translated the same way every time, message by message,
//     so that a longer one begins as the shorter did. Thinking is not sent back,
//     as the protocol has no place for it
//     (TestALongerConversationBeginsAsTheShorterDid).
//   - One Stream is one request. Nothing is retried here and nothing is read
//     from the environment; that is for model.Governor and FromEnv
//     (TestClientKeepsTheLawsOfModel).
//   - An answer is finished only by a finish reason. A stream that ends without
//     one, or contradicts itself, is a Truncated error, also after [DONE]
//     (TestWhatIsNoWholeAnswerIsAnError).
//   - A silent connection ends: see Options.IdleTimeout and PingTimeout
//     (TestIdleConnectionEnds).
//   - No error holds a credential (TestClientKeepsTheLawsOfModel).
//
// A Client starts no goroutines of its own and is safe for concurrent use. Not
// promised: that an endpoint reports usage, or caches what it has seen before.
package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/internal/sse"
	"github.com/actorswarm/swarm/model/internal/transport"
)

// DefaultBaseURL is OpenAI's own endpoint.
const DefaultBaseURL = "https://api.openai.com/v1"

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 1 << 20

// Options configure an endpoint. OpenAI's own needs an APIKey.
type Options struct {
	APIKey  string
	BaseURL string // up to and without /chat/completions; empty: DefaultBaseURL
	// HTTPClient must not have a Timeout, as that ends long answers. nil: a
	// client with room for a thousand connections that follows no redirects.
	HTTPClient *http.Client
	// IdleTimeout ends an answer during which no byte arrives for so long once it
	// began; 0: 120 s.
	IdleTimeout time.Duration
	// PingTimeout ends an answer that brings only keep-alives, or has not begun,
	// for so long; 0: 10 min.
	PingTimeout time.Duration
}

// FromEnv reads OPENAI_API_KEY and OPENAI_BASE_URL. It reports whether there is
// enough to call New with.
func FromEnv(getenv func(string) string) (Options, bool) {
	o := Options{APIKey: strings.TrimSpace(getenv("OPENAI_API_KEY")), BaseURL: strings.TrimSpace(getenv("OPENAI_BASE_URL"))}
	return o, o.APIKey != "" || o.BaseURL != ""
}

// Client is a model.Model.
type Client struct {
	opts Options
	url  string
	http *http.Client
}

var _ model.Model = (*Client)(nil)

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	if o.APIKey == "" && o.BaseURL == "" {
		return nil, errors.New("openai: no endpoint; set OPENAI_API_KEY for OpenAI, or OPENAI_BASE_URL for another")
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if !transport.IsAddress(o.BaseURL) {
		return nil, fmt.Errorf("openai: base URL %q is not an http or https address; correct OPENAI_BASE_URL", transport.RedactURL(o.BaseURL))
	}
	return &Client{opts: o, url: strings.TrimRight(o.BaseURL, "/") + "/chat/completions", http: transport.Client(o.HTTPClient)}, nil
}

// Stream sends one request. See model.Model.
func (c *Client) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		w := transport.Watch(cancel, c.opts.IdleTimeout, c.opts.PingTimeout)
		defer w.Stop()
		res, err := c.send(inner, r)
		if err != nil {
			yield(model.Event{}, c.failure(ctx, inner, err, model.Network))
			return
		}
		defer res.Body.Close()
		answer, err := read(res.Body, len(r.Messages), w, yield)
		switch {
		case errors.Is(err, errStopped):
		case err != nil:
			yield(model.Event{}, c.failure(ctx, inner, err, model.Truncated))
		default:
			yield(model.Event{Kind: model.Finished, Answer: answer}, nil)
		}
	}
}

// send posts the request and returns the open answer.
func (c *Client) send(ctx context.Context, r *model.Request) (*http.Response, error) {
	body, err := c.body(r)
	if err != nil {
		return nil, &model.Error{Kind: model.Invalid, Message: err.Error(), Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if c.opts.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.APIKey)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && (err != nil || mediaType != "application/json") {
		return res, nil
	}
	return nil, refusal(res)
}

// refusal returns the error of an answer that is not a stream.
func refusal(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	err = errors.Join(err, res.Body.Close())
	f, found := decodeFailure(body)
	switch {
	case found:
	case res.StatusCode == http.StatusOK:
		return &model.Error{Kind: model.Invalid, Status: 200, Message: "the endpoint does not stream its answers", Err: err}
	case res.StatusCode < 400:
		f.message = "the base URL is not that of the API"
	default:
		f.message = http.StatusText(res.StatusCode)
	}
	if res.StatusCode != http.StatusOK {
		f.status = res.StatusCode
	}
	e := model.NewError(f.status, f.typ, f.message, model.RetryAfter(res.Header, time.Now()))
	e.Err = err
	return e
}

// failure converts an error to one on which callers branch.
func (c *Client) failure(outer, inner context.Context, err error, otherwise model.ErrorKind) error {
	if outer.Err() != nil {
		return model.Cancelled(outer)
	}
	var own *model.Error
	switch {
	case errors.As(err, &own):
	case errors.Is(context.Cause(inner), transport.ErrSilent):
		own = &model.Error{Kind: model.Network, Message: "nothing came for too long", Err: transport.ErrSilent}
	default:
		own = &model.Error{Kind: otherwise, Err: err}
	}
	own.Message = model.Redact(own.Message, c.opts.APIKey)
	if own.Err != nil {
		if text := model.Redact(own.Err.Error(), c.opts.APIKey); text != own.Err.Error() {
			own.Err = errors.New(text)
		}
	}
	return own
}

// errStopped reports that the consumer broke the loop.
var errStopped = errors.New("openai: the reader of the stream stopped")

// watchedReader reports every byte to the watchdog: keep-alives here are comments, which
// the reader of events skips.
type watchedReader struct {
	body io.Reader
	w    *transport.Watchdog
}

func (a watchedReader) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		a.w.OnPing()
	}
	return n, err
}

// read yields events until the answer is complete. asked is the length of
// the conversation, from which calls without an id get theirs.
func read(body io.Reader, asked int, w *transport.Watchdog, yield func(model.Event, error) bool) (*model.Answer, error) {
	events := sse.NewReader(watchedReader{body, w})
	a := accumulator{asked: asked, at: map[int]*call{}}
	w.OnContent()
	for {
		raw, err := events.Next()
		if err == nil && string(bytes.TrimSpace(raw.Data)) == "[DONE]" {
			break
		}
		if err != nil {
			// With a finish reason the answer is complete; usage may be missing.
			if a.finish != "" {
				break
			}
			if errors.Is(err, io.EOF) {
				return nil, truncated("the stream ended without a finish reason")
			}
			return nil, err
		}
		news, err := a.add(raw.Data)
		if err != nil {
			return nil, err
		}
		w.OnContent()
		for _, e := range news {
			if !yield(e, nil) {
				return nil, errStopped
			}
		}
	}
	answer, err := a.answer()
	if err == nil {
		w.Drain(body)
	}
	return answer, err
}
