package model

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrorKind classifies failed requests by what a caller can do.
type ErrorKind string

// The kinds of errors. The first five may be temporary.
const (
	RateLimited ErrorKind = "rate_limited" // too many requests for this key
	Overloaded  ErrorKind = "overloaded"   // the API has no capacity
	Server      ErrorKind = "server"       // the API failed
	Network     ErrorKind = "network"      // the API was not reached, or stopped answering
	Truncated   ErrorKind = "truncated"    // the answer was incomplete or contradictory

	TooLong ErrorKind = "too_long" // the conversation exceeds the window
	Auth    ErrorKind = "auth"     // no key, a wrong one, or one without permission
	Spend   ErrorKind = "spend"    // no money or quota left
	Invalid ErrorKind = "invalid"  // the API does not understand the request
	Refused ErrorKind = "refused"  // the model declined to answer
	Empty   ErrorKind = "empty"    // a complete answer with nothing in it
)

// Error is a failed request. Its text never contains a credential.
type Error struct {
	Kind       ErrorKind
	Status     int           // of HTTP; 200 for an error inside a stream, 0 without an answer
	Type       string        // the provider's name of the error
	Message    string        // the provider's text
	RetryAfter time.Duration // the wait that the provider asks for; 0 if none
	Err        error         // the cause, if any
}

// NewError classifies the error of a provider. It knows the names that Anthropic and
// OpenAI-compatible servers use.
func NewError(status int, typ, message string, retryAfter time.Duration) *Error {
	return &Error{
		Kind: classify(status, strings.ToLower(typ), strings.ToLower(message)), Status: status,
		Type: typ, Message: message, RetryAfter: retryAfter,
	}
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, Overloaded, Server, Network, Truncated:
		return true
	}
	return false
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	what, wayOut := e.Kind.explain()
	if d := e.detail(); d != "" {
		what += " (" + d + ")"
	}
	return "model: " + what + "; " + wayOut
}

func (e *Error) detail() string {
	var parts []string
	if e.Status != 0 {
		parts = append(parts, strconv.Itoa(e.Status))
	}
	if e.Type != "" {
		parts = append(parts, e.Type)
	}
	head := strings.Join(parts, " ")
	tail := strings.TrimSpace(e.Message)
	if tail == "" && e.Err != nil {
		tail = e.Err.Error()
	}
	switch {
	case head == "":
		return tail
	case tail == "":
		return head
	}
	return head + ": " + tail
}

func (k ErrorKind) explain() (what, wayOut string) {
	switch k {
	case RateLimited:
		return "the API limits the rate of requests for this key", "wait, or run fewer agents at once"
	case Overloaded:
		return "the API is overloaded", "wait and try again"
	case Server:
		return "the API failed", "try again, and look at the provider's status page if it lasts"
	case Network:
		return "the API could not be reached", "check the network and the base URL, then try again"
	case Truncated:
		return "the answer broke off before it was complete", "try again"
	case TooLong:
		return "the conversation is longer than the model can take", "compact it or start a new one"
	case Auth:
		return "the API refused the credentials", "check the API key and what it may use"
	case Spend:
		return "the account's money or quota is used up", "raise the limit with the provider, then resume"
	case Refused:
		return "the model refused to answer", "change the request"
	case Empty:
		return "the model answered with nothing", "ask it to continue"
	}
	return "the API does not accept the request", "change the request; the same one will fail again"
}

func classify(status int, typ, message string) ErrorKind {
	switch {
	case isSpend(status, typ, message):
		return Spend
	case status == http.StatusRequestEntityTooLarge, isTooLong(typ, message):
		return TooLong
	case status == 529, typ == "overloaded_error":
		return Overloaded
	case status == http.StatusTooManyRequests, typ == "rate_limit_error", typ == "rate_limit_exceeded":
		return RateLimited
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		typ == "authentication_error", typ == "permission_error", typ == "invalid_api_key":
		return Auth
	case typ == "invalid_request_error", typ == "not_found_error":
		return Invalid
	case status == http.StatusRequestTimeout, status == http.StatusConflict:
		return Server
	case status >= 300 && status < 500:
		return Invalid
	}
	return Server
}

func isSpend(status int, typ, message string) bool {
	return status == http.StatusPaymentRequired || typ == "billing_error" || typ == "insufficient_quota" ||
		containsAny(typ+" "+message, "spend_limit", "spend limit", "credit balance", "insufficient_quota", "exceeded your current quota")
}

func isTooLong(typ, message string) bool {
	return typ == "request_too_large" || containsAny(typ+" "+message, "context_length_exceeded",
		"prompt is too long", "exceed context limit", "maximum context length", "context window")
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// RetryAfter returns how long a provider asks to wait, from retry-after-ms or retry-after in
// seconds or as a date, or 0.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// wait converts seconds to a duration between 0 and a day; larger values would
// overflow.
func wait(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, 86_400) * float64(time.Second))
}

// Redact replaces each secret in s, for errors and logs.
func Redact(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return s
}

// Cancelled is the error of a request whose context ended; it wraps the cause.
func Cancelled(ctx context.Context) error {
	return fmt.Errorf("model: request cancelled: %w", context.Cause(ctx))
}
