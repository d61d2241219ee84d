package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	firstByteTimeout = time.Minute
	maxBody          = 64 << 20 // of an answer that is not a stream
	maxRedirects     = 5
)

// transport returns the way to a server that is reached by HTTP.
// Its requests end with scope.
func (s Server) transport(scope context.Context) mcp.Transport {
	client := &http.Client{Transport: newRoundTripper(scope, s.Headers), CheckRedirect: sameHost}
	if s.Type == "sse" {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client}
}

// sameHost lets a server lead on only to itself, as the headers hold keys for it.
func sameHost(next *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case len(via) >= maxRedirects:
		return errors.New("the server redirects without end")
	case next.URL.Host != first.Host, first.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("the server redirects to %s; use that address if it is meant", next.URL.Host)
	}
	return nil
}

// roundTripper adds headers to requests and bounds the answers.
type roundTripper struct {
	scope   context.Context
	headers map[string]string
	next    *http.Transport
}

func newRoundTripper(scope context.Context, headers map[string]string) roundTripper {
	return roundTripper{scope, headers, &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: firstByteTimeout, ForceAttemptHTTP2: true,
		IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	}}
}

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(r.scope, cancel)
	end := func() { stop(); cancel() }
	req = req.Clone(ctx)
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		end()
		return nil, err
	}
	b := body{resp.Body, resp.Body, end}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b.Reader = io.LimitReader(resp.Body, maxBody)
	}
	resp.Body = b
	return resp, nil
}

// CloseIdleConnections lets the client close what is left.
func (r roundTripper) CloseIdleConnections() { r.next.CloseIdleConnections() }

// body is the body of an answer; it ends its request when it is closed.
type body struct {
	io.Reader
	closer io.Closer
	end    func()
}

func (b body) Close() error {
	defer b.end()
	return b.closer.Close()
}
