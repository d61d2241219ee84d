package hook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMatcherThatDoesNotCompileBlocks(t *testing.T) {
	out := try(t, "Bash", file("f", "(?!x)", command("true")))
	if why, blocked := out[0].Blocked(); !blocked || !strings.Contains(why, "(?!x)") {
		t.Errorf("blocked %v: %q", blocked, why)
	}
}

func TestConditionsAreForCoveredCalls(t *testing.T) {
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "true", "if": "Bash(ls)"})})
	for _, covered := range []bool{true, false} {
		call := Call{Event: "Stop", Dir: t.TempDir(), Covers: func(rule string) bool { return covered && rule == "Bash(ls)" }}
		if n := len(s.Run(t.Context(), call)); n == 1 != covered {
			t.Errorf("covered %v: %d outcomes", covered, n)
		}
	}
}

func TestOnceEndsWithTheFirstSuccess(t *testing.T) {
	dir := t.TempDir()
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "test -e tried || { touch tried; exit 1; }", "once": true})})
	for i, want := range []int{1, 1, 0} {
		if n := len(s.Run(t.Context(), Call{Event: "Stop", Dir: dir})); n != want {
			t.Errorf("run %d: %d outcomes, want %d", i, n, want)
		}
	}
}

func TestAsynchronousHooksAreNotAwaited(t *testing.T) {
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "echo late", "async": true})})
	var all sync.WaitGroup
	late := make(chan Outcome, 1)
	out := s.Run(t.Context(), Call{
		Event: "Stop", Dir: t.TempDir(), Late: func(o Outcome) { late <- o },
		Background: func(run func(context.Context)) { all.Go(func() { run(t.Context()) }) },
	})
	all.Wait()
	if o := <-late; len(out) != 0 || o.Stdout != "late\n" {
		t.Errorf("%d outcomes, late %+v", len(out), o)
	}
}

func TestHTTPHandlers(t *testing.T) {
	type request struct{ path, token string }
	requests := make(chan request, 1) // the client may return before a slow handler does
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the client is not seen
		requests <- request{r.URL.Path, r.Header.Get("X-Token")}
		switch r.URL.Path {
		case "/block":
			_, _ = w.Write([]byte(`{"decision":"block","reason":"no"}`))
		case "/text":
			_, _ = w.Write([]byte("fine"))
		case "/bad":
			w.WriteHeader(http.StatusInternalServerError)
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		}
	}))
	defer server.Close()
	for path, want := range map[string]struct{ blocked, failed bool }{
		"/empty": {}, "/block": {blocked: true}, "/text": {failed: true}, "/bad": {failed: true}, "/slow": {failed: true},
	} {
		h := map[string]any{"type": "http", "url": server.URL + path, "timeout": 0.5, "headers": map[string]string{"X-Token": "$A$B"}, "allowedEnvVars": []string{"A"}}
		s, problems := Parse([]File{file("f", "", h)})
		out := s.Run(t.Context(), Call{Event: "Stop", Getenv: func(name string) string { return name }})
		_, blocked := out[0].Blocked()
		if len(problems) > 0 || blocked != want.blocked || (out[0].Failure() != nil) != want.failed {
			t.Errorf("%s: %+v, %v", path, out[0], problems)
		}
		if got := <-requests; got != (request{path, "A"}) {
			t.Errorf("%s: the server got %+v", path, got)
		}
	}
	allowed := []string{"https://example.com/*"}
	limited := file("f", "", map[string]any{"type": "http", "url": server.URL + "/empty"})
	limited.URLs = &allowed
	if out := try(t, "", limited); out[0].Failure() == nil {
		t.Error("a URL that is not allowed was asked")
	}
	for _, url := range []string{"http://example.com", "ftp://localhost", "://"} {
		if _, problems := Parse([]File{file("f", "", map[string]any{"type": "http", "url": url})}); len(problems) != 1 {
			t.Errorf("%s: problems %v", url, problems)
		}
	}
}

func TestEventsThatNothingFiresAreNamed(t *testing.T) {
	f := File{Path: "f", Hooks: []byte(`{"Setup": [], "FileChanged": [], "Stop": []}`)}
	_, problems := Parse([]File{f})
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "its hooks of FileChanged, Setup are not run") {
		t.Errorf("problems %v", problems)
	}
}

func TestEqualHooksOfTwoMatchersBothRun(t *testing.T) {
	first, second := file("f", "Bash", command("true")), file("g", "Edit", command("true"))
	for _, subject := range []string{"Bash", "Edit"} {
		if n := len(try(t, subject, first, second)); n != 1 {
			t.Errorf("%s: %d outcomes", subject, n)
		}
	}
}
