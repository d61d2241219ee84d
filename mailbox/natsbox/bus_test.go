package natsbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
)

func openBus(t *testing.T, o natsbox.OpenOptions) *natsbox.Bus {
	t.Helper()
	o.Space = "test"
	b, err := natsbox.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

func closeBus(t *testing.T, b *natsbox.Bus) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// reader collects what an agent receives.
type reader struct {
	mu     sync.Mutex
	bodies []string
	fail   func(body string) error
	more   chan struct{}
}

func newReader() *reader { return &reader{more: make(chan struct{}, 10000)} }

func (r *reader) receive(e mailbox.Envelope) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, e.Body)
	r.more <- struct{}{}
	if r.fail != nil {
		return r.fail(e.Body)
	}
	return nil
}

// await returns the bodies received, once there are n.
func (r *reader) await(t *testing.T, n int) []string {
	t.Helper()
	for {
		r.mu.Lock()
		got := r.bodies
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-r.more:
		case <-time.After(20 * time.Second):
			t.Fatalf("%d of %d came: %v", len(got), n, got)
		}
	}
}

func post(t *testing.T, b *natsbox.Bus, from, to mailbox.AgentID, bodies ...string) (last mailbox.ID) {
	t.Helper()
	for _, body := range bodies {
		id, err := b.Post(t.Context(), from, to, body)
		if err != nil {
			t.Fatal(err)
		}
		last = id
	}
	return last
}

func awaitState(t *testing.T, b *natsbox.Bus, id mailbox.ID, want mailbox.State) {
	t.Helper()
	limit, tick := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		if s, _ := b.State(id); s.State == want {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			s, _ := b.State(id)
			t.Fatalf("the message is %q, want %q", s.State, want)
		}
	}
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestBusBetweenTwoProcesses(t *testing.T) {
	dir := shortDir(t)
	url := "unix:" + filepath.Join(dir, "run", "s")
	one := openBus(t, natsbox.OpenOptions{Dir: filepath.Join(dir, "1"), Listen: url})
	two := openBus(t, natsbox.OpenOptions{Dir: filepath.Join(dir, "2"), URL: url})
	a, b := newReader(), newReader()
	if err := errors.Join(one.Register("a", a.receive), two.Register("b", b.receive)); err != nil {
		t.Fatal(err)
	}
	id := post(t, one, "a", "b", "1", "2", "3")
	post(t, two, "b", "a", "x", "y")
	if got := b.await(t, 3); strings.Join(got, "") != "123" {
		t.Errorf("b received %v", got)
	}
	if got := a.await(t, 2); strings.Join(got, "") != "xy" {
		t.Errorf("a received %v", got)
	}
	awaitState(t, one, id, mailbox.StateRead)
	if err := one.Register("a", a.receive); err == nil {
		t.Error("a was registered twice")
	}
	if err := one.Register("A", a.receive); err == nil {
		t.Error("the agent A was accepted")
	}
	if _, err := one.Post(t.Context(), "a", "b", strings.Repeat("x", mailbox.MaxBody+1)); !errors.As(err, new(*mailbox.TooLargeError)) {
		t.Errorf("posting too much: %v", err)
	}
}

func TestBusKeepsMailForALaterRegister(t *testing.T) {
	b := openBus(t, natsbox.OpenOptions{Dir: t.TempDir(), ResendAfter: 50 * time.Millisecond})
	id := post(t, b, "a", "b", "early")
	if s, ok := b.State(id); !ok || s.State != mailbox.StateAccepted {
		t.Errorf("mail for nobody is %+v", s)
	}
	r := newReader()
	if err := b.Register("b", r.receive); err != nil {
		t.Fatal(err)
	}
	r.await(t, 1)
	awaitState(t, b, id, mailbox.StateRead)
}

func TestReceivedAgainAfterAnError(t *testing.T) {
	dir := t.TempDir()
	b := openBus(t, natsbox.OpenOptions{Dir: dir})
	r := newReader()
	tries := 0
	r.fail = func(body string) error {
		if tries++; body == "2" && tries < 4 {
			return errors.New("not now")
		}
		return nil
	}
	if err := b.Register("b", r.receive); err != nil {
		t.Fatal(err)
	}
	post(t, b, "a", "b", "1", "2", "3")
	if got := r.await(t, 5); strings.Join(got, "") != "12223" {
		t.Errorf("received %v, want 2 until it was taken and then 3", got)
	}
	r.mu.Lock()
	r.fail = func(string) error { return errors.New("never") }
	r.mu.Unlock()
	post(t, b, "a", "b", "4")
	r.await(t, 6)
	closeBus(t, b)

	again := newReader()
	if err := openBus(t, natsbox.OpenOptions{Dir: dir}).Register("b", again.receive); err != nil {
		t.Fatal(err)
	}
	if got := again.await(t, 1); got[0] != "4" {
		t.Errorf("after the restart %v came, want 4", got)
	}
}

func TestBusRestoresItsState(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for life := range 4 {
		b := openBus(t, natsbox.OpenOptions{Dir: dir})
		r := newReader()
		if life == 3 {
			if err := b.Register("b", r.receive); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			body := fmt.Sprintf("%d.%d", life, i)
			post(t, b, "a", "b", body)
			want = append(want, body)
		}
		if life == 3 {
			if got := r.await(t, len(want)); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("received %v, want %v", got, want)
			}
		}
		closeBus(t, b)
		closeBus(t, b)
		if _, err := b.Post(t.Context(), "a", "b", "late"); !errors.Is(err, natsbox.ErrClosed) {
			t.Errorf("post after close: %v", err)
		}
		if err := b.Register("c", r.receive); !errors.Is(err, natsbox.ErrClosed) {
			t.Errorf("register after close: %v", err)
		}
	}
}

// Posts of one pair share a sync and return in any order.
func TestConcurrentPostsOfOnePair(t *testing.T) {
	b := openBus(t, natsbox.OpenOptions{Dir: t.TempDir()})
	r := newReader()
	if err := b.Register("b", r.receive); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			for range 20 {
				if _, err := b.Post(t.Context(), "a", "b", "x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	r.await(t, 200)
}

func TestPostReturnsTheCauseOfAnEndedContext(t *testing.T) {
	b := openBus(t, natsbox.OpenOptions{Dir: t.TempDir()})
	r := newReader()
	if err := b.Register("b", r.receive); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the poster has gone")
	cancel(gone)
	id, err := b.Post(ctx, "a", "b", "x")
	if err != nil && !errors.Is(err, gone) || id == "" {
		t.Errorf("Post = %q, %v", id, err)
	}
	r.await(t, 1) // it was stored all the same
}

func TestOpenReportsInvalidOptions(t *testing.T) {
	dir := t.TempDir()
	openBus(t, natsbox.OpenOptions{Dir: dir})
	if _, err := natsbox.Open(t.Context(), natsbox.OpenOptions{Dir: dir, Space: "test"}); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("a second bus in one directory: %v", err)
	}
	for name, o := range map[string]natsbox.OpenOptions{
		"no space":       {Dir: t.TempDir()},
		"URL and Listen": {Dir: t.TempDir(), Space: "test", URL: "nats://127.0.0.1:1", Listen: "127.0.0.1:0"},
		"open to all":    {Dir: t.TempDir(), Space: "test", Listen: "127.0.0.1:0"},
		"nobody there":   {Dir: t.TempDir(), Space: "test", URL: "nats://127.0.0.1:1"},
		"no socket":      {Dir: t.TempDir(), Space: "test", URL: "unix:/nonexistent"},
	} {
		if b, err := natsbox.Open(t.Context(), o); err == nil {
			t.Errorf("%s: opened", name)
			closeBus(t, b)
		}
	}
}

func TestBusSurvivesACheckpoint(t *testing.T) {
	dir := t.TempDir()
	b := openBus(t, natsbox.OpenOptions{Dir: dir})
	if err := b.Register("b", func(mailbox.Envelope) error { return errors.New("not yet") }); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("x", mailbox.MaxBody)
	for range 60 { // twice the journal's segment, so that one is due
		post(t, b, "a", "b", body)
	}
	closeBus(t, b)
	r := newReader()
	if err := openBus(t, natsbox.OpenOptions{Dir: dir}).Register("b", r.receive); err != nil {
		t.Fatal(err)
	}
	r.await(t, 60)
}
