// Package anthropic reaches models through Anthropic's Messages API.
//
//	options, found := anthropic.FromEnv(os.Getenv)
//	if !found {
//		return errors.New("set ANTHROPIC_API_KEY")
//	}
//	client, err := anthropic.New(options)
//	request := &model.Request{Model: client.Resolve("sonnet"), Messages: conversation}
//	answer, err := model.Complete(ctx, client, request) // or client.Stream
//
// Laws:
//
//   - The body on the wire is Request.AppendBody, byte for byte. The SDK is
//     transport only: credentials, version headers, connections
//     (TestBodyOnTheWireIsOursByteForByte).
//   - One Stream is one request. Nothing is retried here and nothing is read
//     from the environment; that is for model.Governor and FromEnv
//     (TestClientKeepsTheLawsOfModel, TestEnvironmentIsNotRead).
//   - An answer is finished only by message_stop after a stop reason. Anything
//     else, also events that contradict each other, is a Truncated error. Unknown
//     events are passed over, unknown blocks are kept as they came
//     (TestContradictionsAreTruncatedAnswers, TestUnknownEventsArePassedOver,
//     TestDeltasOfUnknownBlocksAreKept).
//   - A silent connection ends: see Options.IdleTimeout and PingTimeout
//     (TestIdleConnectionEnds).
//   - No error holds a credential (TestClientKeepsTheLawsOfModel).
//
// A Client starts no goroutines of its own and is safe for concurrent use.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/internal/transport"
	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 1 << 20

// Client is a model.Model.
type Client struct {
	opts    []option.RequestOption
	secrets []string
	betas   []string
	aliases map[string]string
	idle    time.Duration
	ping    time.Duration
}

var _ model.Model = (*Client)(nil)

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	if o.APIKey == "" && o.AuthToken == "" && o.BaseURL == "" {
		return nil, errors.New("anthropic: no credentials; set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or ANTHROPIC_BASE_URL")
	}
	// What sdk.NewClient puts before others with WithoutEnvironmentDefaults is the
	// first of these.
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithHTTPClient(limitedErrorBodies{transport.Client(o.HTTPClient)}),
	}
	if o.BaseURL != "" {
		if !transport.IsAddress(o.BaseURL) {
			return nil, fmt.Errorf("anthropic: base URL %q is not an http or https address; correct ANTHROPIC_BASE_URL", transport.RedactURL(o.BaseURL))
		}
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	if o.APIKey != "" {
		opts = append(opts, option.WithAPIKey(o.APIKey))
	}
	if o.AuthToken != "" {
		opts = append(opts, option.WithAuthToken(o.AuthToken))
	}
	return &Client{
		opts: opts, secrets: []string{o.APIKey, o.AuthToken},
		betas: slices.Clone(o.Betas), aliases: o.aliases(),
		idle: o.IdleTimeout, ping: o.PingTimeout,
	}, nil
}

// Resolve returns the full id of a short model name. See Options.Resolve.
func (c *Client) Resolve(name string) string { return resolve(c.aliases, name) }

// limitedErrorBodies keeps the SDK from reading an endless error into memory.
type limitedErrorBodies struct{ *http.Client }

func (b limitedErrorBodies) Do(req *http.Request) (*http.Response, error) {
	res, err := b.Client.Do(req)
	if err == nil && res.StatusCode >= 400 {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxErrorBody), res.Body}
	}
	return res, err
}

// send posts the request and returns the open answer.
func (c *Client) send(ctx context.Context, r *model.Request) (*http.Response, error) {
	q := *r
	betas := c.betas
	id, long := strings.CutSuffix(c.Resolve(r.Model), longContextSuffix)
	if q.Model = id; long {
		betas = append(slices.Clone(betas), betaLongContext)
	}
	var opts []option.RequestOption
	if len(betas) > 0 {
		opts = append(opts, option.WithHeader("anthropic-beta", strings.Join(betas, ",")))
	}
	var res *http.Response
	// Only Post is used, so no services are made, and the SDK's client is not a field
	// of ours: either would make the linker keep every service and its types, which is
	// a fifth of the program.
	api := sdk.Client{Options: c.opts}
	err := api.Post(ctx, "v1/messages", q.AppendBody(nil), &res, opts...)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		e := model.NewError(res.StatusCode, "", "the base URL is not that of the API", 0)
		e.Err = res.Body.Close()
		return nil, e
	}
	return res, nil
}
