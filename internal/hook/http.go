package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// limits are the settings for HTTP hooks: nil is no limit.
type limits struct{ urls, env []string }

// limitsOf adds the lists of all trusted files up.
func limitsOf(files []File) (l limits) {
	for _, f := range files {
		if f.Untrusted {
			continue
		}
		if f.URLs != nil {
			l.urls = slices.Concat(l.urls, *f.URLs, []string{""})
		}
		if f.Env != nil {
			l.env = slices.Concat(l.env, *f.Env, []string{""})
		}
	}
	return l
}

// checkURL allows https, and http on this machine.
func (c config) checkURL() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return fmt.Errorf("its url cannot be read: %w", err)
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("its url %q is not the address of an HTTP server", c.URL)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return fmt.Errorf("its url %q would send what agents do in the clear; use https", c.URL)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// post sends the input to the handler's URL. A reply that is not 2xx with an empty
// body or a JSON object is a failure.
func (h handler) post(ctx context.Context, l limits, c Call, input []byte, out *Outcome) {
	body, err := h.request(ctx, l, c, input)
	switch {
	case context.Cause(ctx) != nil:
		out.Err = context.Cause(ctx)
	case err != nil:
		out.Err = err
	case len(bytes.TrimSpace(body)) > 0 && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")):
		out.Err = errors.New("the reply is not a JSON object")
	default:
		out.Code, out.Stdout = 0, string(body)
	}
}

func (h handler) request(ctx context.Context, l limits, c Call, input []byte) ([]byte, error) {
	if l.urls != nil && !slices.ContainsFunc(l.urls, func(p string) bool { return globs(p, h.URL) }) {
		return nil, errors.New("allowedHttpHookUrls does not list its url")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(input))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		req.Header.Set(name, h.expand(value, l, c.Getenv))
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, MaxOutput))
	err = errors.Join(err, reply.Body.Close())
	if reply.StatusCode/100 != 2 {
		err = errors.Join(fmt.Errorf("the server replied %s", reply.Status), err)
	}
	return body, err
}

// expand replaces $NAME and ${NAME} in a header by the variables that the handler and
// the settings allow, all others by nothing.
func (h handler) expand(value string, l limits, getenv func(string) string) string {
	return os.Expand(value, func(name string) string {
		if getenv == nil || !slices.Contains(h.EnvVars, name) || l.env != nil && !slices.Contains(l.env, name) {
			return ""
		}
		return getenv(name)
	})
}

// globs matches a text against a pattern in which "*" stands for any characters.
func globs(pattern, text string) bool {
	re, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	return err == nil && re.MatchString(text)
}
