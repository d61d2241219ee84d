// Package transport holds what providers share below their protocols: an HTTP client, the
// watchdog of a streamed body, and reading the body to its end.
//
//	ctx, cancel := context.WithCancelCause(ctx)
//	w := transport.Watch(cancel, idle, ping)
//	defer w.Stop()
//	res, err := transport.Client(nil).Do(req.WithContext(ctx))
//	…
//	w.OnContent()     // for each piece of the answer
//	w.Drain(res.Body) // after the last one, so that the connection is used again
//
// Laws:
//
//   - A connection on which nothing arrives is cancelled, and a ping postpones that, up to a
//     limit (TestSilenceEndsAStreamAndPingsPutItOff).
//   - An answer may take longer to begin than a pause in it may last
//     (TestAnAnswerMayTakeLongToBegin).
package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of a watchdog.
const (
	DefaultIdle = 120 * time.Second
	DefaultPing = 10 * time.Minute
)

// The wait for the end of a body whose answer is complete is bounded; the
// connection can be used again only after it.
const (
	drainTimeout = time.Second
	drainBytes   = 64 << 10
)

// ErrSilent is the cause with which a watchdog cancels.
var ErrSilent = errors.New("the connection went silent")

// Client returns given, or else a client without a time limit, with room for a
// thousand connections to one host. It follows no redirects, as one to another
// host would take the key along.
func Client(given *http.Client) *http.Client {
	if given != nil {
		return given
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        1024,
			MaxIdleConnsPerHost: 1024,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// IsAddress reports whether s is an absolute http or https address.
func IsAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// RedactURL leaves out what may be a password.
func RedactURL(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return "…" + s[i:]
	}
	return s
}

// Watchdog cancels a request that went silent. Only the goroutine of the stream
// may use it.
type Watchdog struct {
	timer      *time.Timer
	idle, ping time.Duration
	content    time.Time // when there was content last
}

// Watch starts a watchdog that waits up to ping for the answer to begin. Idle
// and ping that are not positive mean the defaults.
func Watch(cancel context.CancelCauseFunc, idle, ping time.Duration) *Watchdog {
	if idle <= 0 {
		idle = DefaultIdle
	}
	if ping <= 0 {
		ping = DefaultPing
	}
	return &Watchdog{
		idle: idle, ping: ping, content: time.Now(),
		timer: time.AfterFunc(ping, func() { cancel(ErrSilent) }),
	}
}

// OnContent books that the answer grew.
func (w *Watchdog) OnContent() {
	w.content = time.Now()
	w.timer.Reset(min(w.idle, w.ping))
}

// OnPing books a sign of life: it puts off the end, but not beyond ping after the
// last content.
func (w *Watchdog) OnPing() {
	w.timer.Reset(min(w.idle, max(0, w.ping-time.Since(w.content))))
}

// Stop ends the watch.
func (w *Watchdog) Stop() { w.timer.Stop() }

// Drain reads a body up to its end, for a second at most. An error changes a
// complete answer as little as the end does.
func (w *Watchdog) Drain(body io.Reader) {
	w.timer.Reset(drainTimeout)
	buf := make([]byte, 1024)
	for left := drainBytes; left > 0; {
		n, err := body.Read(buf)
		if err != nil {
			return
		}
		left -= n
	}
}
