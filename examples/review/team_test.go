package review

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// tree is the content of a repository by path.
type tree map[string]string

// repository makes a git repository of one commit for each file, in the order
// of paths.
func repository(t *testing.T, files tree) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "add", "-f", name)
		git(t, dir, "commit", "-q", "-m", "add "+name)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=A Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false",
	}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// places returns "path:line" of each line in which is holds.
func (f tree) places(is func(line string) bool) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for i, line := range strings.Split(f[name], "\n") {
			if is(line) {
				found = append(found, fmt.Sprintf("%s:%d", name, i+1))
			}
		}
	}
	return found
}

func (f tree) lines() int {
	n := 0
	for _, text := range f {
		n += strings.Count(text, "\n")
	}
	return n
}

// outcome is what a review left behind.
type outcome struct {
	result swarm.Result
	report string
	agents []actors.Status
	events []event.Event
}

// review runs the scripted team on dir, with everything real but the model.
func review(t *testing.T, dir string) outcome {
	t.Helper()
	o, err := Options(dir)
	if err != nil {
		t.Fatal(err)
	}
	o.StateDir, o.Home, o.Getenv = t.TempDir(), t.TempDir(), environment
	if o.Model, err = InstallScript(o.StateDir); err != nil {
		t.Fatal(err)
	}
	s, err := swarm.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	watched := watch(s)
	var out outcome
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out.result, err = s.Run(ctx, Prompt)
	if err != nil {
		t.Errorf("the run failed: %v", err)
	}
	out.agents = s.Agents()
	if err := s.Close(); err != nil {
		t.Errorf("the session did not close cleanly: %v", err)
	}
	out.events = <-watched
	out.report = read(t, filepath.Join(dir, Report))
	if t.Failed() {
		t.Log(transcript(out.events))
	}
	return out
}

// environment hides the machine's own: only what programs need is there.
func environment(name string) string {
	switch name {
	case "PATH", "HOME", "TMPDIR":
		return os.Getenv(name)
	}
	return ""
}

// watch collects every event until the session is closed.
func watch(s *swarm.Session) <-chan []event.Event {
	sub, done := s.Events(), make(chan []event.Event, 1)
	go func() {
		var all []event.Event
		for {
			// The bus ends the subscription when the session closes.
			e, err := sub.Next(context.Background())
			if err != nil {
				done <- all
				return
			}
			all = append(all, e)
		}
	}()
	return done
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(raw)
}

// transcript is the events that help to understand a failure.
func transcript(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch f := e.Fact.(type) {
		case event.CallFinished:
			fmt.Fprintf(&b, "%s %s %.200s => %v %.200s\n", e.Agent.Name, f.Call.Name, f.Call.Input, f.IsError, f.Text)
		case event.Denied:
			fmt.Fprintf(&b, "%s DENIED %s %s: %s\n", e.Agent.Name, f.Call.Name, f.Call.Input, f.Reason)
		case event.TurnEnded:
			fmt.Fprintf(&b, "%s TURN %s %s %s\n", e.Agent.Name, f.Outcome, f.Reason, f.Text)
		case event.Warning:
			fmt.Fprintf(&b, "%s WARNING %s\n", e.Agent.Name, f.Text)
		}
	}
	return b.String()
}

// mail returns the messages of a review that begin with a word, as
// "sender > receiver", sorted, and their ids.
func (o outcome) mail(word string) (routes []string, ids []mailbox.ID) {
	for _, e := range o.events {
		if sent, ok := e.Fact.(event.MailSent); ok && strings.HasPrefix(sent.Envelope.Body, word) {
			routes = append(routes, sent.Envelope.FromName+" > "+sent.Envelope.ToName)
			ids = append(ids, sent.Envelope.ID)
		}
	}
	slices.Sort(routes)
	return routes, ids
}

// readIDs returns the messages that a recorded request of their receiver carried.
func (o outcome) readIDs() map[mailbox.ID]int {
	times := map[mailbox.ID]int{}
	for _, e := range o.events {
		if r, ok := e.Fact.(event.Requested); ok {
			for _, id := range r.Mail {
				times[id]++
			}
		}
	}
	return times
}
