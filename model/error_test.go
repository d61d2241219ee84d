package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestErrorsAreClassifiedByWhatToDo(t *testing.T) {
	for _, c := range []struct {
		status       int
		typ, message string
		want         ErrorKind
		retry        bool
	}{
		{429, "rate_limit_error", "slow down", RateLimited, true},
		{429, "enforced_spend_limit_reached", "", Spend, false},
		{429, "insufficient_quota", "", Spend, false},
		{400, "invalid_request_error", "Your credit balance is too low", Spend, false},
		{402, "", "", Spend, false},
		{529, "", "", Overloaded, true},
		{200, "overloaded_error", "Overloaded", Overloaded, true},
		{200, "rate_limit_error", "", RateLimited, true},
		{200, "api_error", "", Server, true},
		{500, "", "", Server, true},
		{504, "", "", Server, true},
		{408, "", "", Server, true},
		{401, "", "", Auth, false},
		{403, "permission_error", "", Auth, false},
		{413, "", "", TooLong, false},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", TooLong, false},
		{400, "context_length_exceeded", "", TooLong, false},
		{400, "invalid_request_error", "messages: bad", Invalid, false},
		{404, "not_found_error", "model: x", Invalid, false},
		{200, "invalid_request_error", "", Invalid, false},
	} {
		e := NewError(c.status, c.typ, c.message, 0)
		if e.Kind != c.want || e.Retryable() != c.retry {
			t.Errorf("%d %s %q is %s, retryable %v; want %s, %v", c.status, c.typ, c.message, e.Kind, e.Retryable(), c.want, c.retry)
		}
	}
}

func TestErrorTextsSayWhatAndTheWayOut(t *testing.T) {
	for _, k := range []ErrorKind{RateLimited, Overloaded, Server, Network, Truncated, TooLong, Auth, Spend, Invalid, Refused, Empty} {
		e := &Error{Kind: k, Status: 400, Type: "some_error", Err: io.EOF}
		s := e.Error()
		if !strings.HasPrefix(s, "model: ") || !strings.Contains(s, "; ") || !strings.Contains(s, "(400 some_error: EOF)") {
			t.Errorf("%s reads %q", k, s)
		}
		if !errors.Is(e, io.EOF) {
			t.Errorf("%s hides its cause", k)
		}
	}
}

func TestRetryAfterReadsSecondsAndDates(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "20", 20 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "soon", 0},
		{"X", "1", 0},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %s gives %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestRedactHidesEverySecret(t *testing.T) {
	if got := Redact("key sk-1 and sk-2", "sk-1", "", "sk-2"); got != "key [redacted] and [redacted]" {
		t.Errorf("got %q", got)
	}
}

func TestCancelledWrapsTheCause(t *testing.T) {
	cause := errors.New("stopped by parent")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Cancelled(ctx); !errors.Is(err, cause) {
		t.Errorf("%v hides its cause", err)
	}
}
