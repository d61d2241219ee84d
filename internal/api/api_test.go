package api

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/session"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quiet is a session of which nothing is asked but what it is.
type quiet struct {
	Session
	info session.Info
}

func (q quiet) Info() session.Info { return q.info }

// running answers for a session on a server of its own. closed ends it in order; killed
// ends its server alone.
func running(t *testing.T, events *event.Bus, quit func()) (c *Client, closed, killed func()) {
	t.Helper()
	state := t.TempDir()
	info := session.Info{ID: "s1", Path: filepath.Join(state, "projects", "d", "s1")}
	server, err := natsd.Start(t.Context(), natsd.Options{StoreDir: t.TempDir()})
	ok(t, err)
	conn, err := server.Conn("node")
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, conn, Parts{Session: quiet{info: info}, Members: new(member.Service)}, Options{Events: events, Quit: quit})
	ok(t, err)
	ok(t, server.ServeUnix(info.Socket(state)))
	c, err = Dial(state, info)
	ok(t, err)
	killed = func() { ok(t, server.Stop()) }
	closed = func() {
		cancel()
		ok(t, s.Close())
		killed()
	}
	t.Cleanup(func() { c.Close(); closed() })
	return c, closed, killed
}

// TestAFeedKnowsHowItsSessionEnds tells a session that was closed, whose last facts are
// all received, from one whose process is gone.
func TestAFeedKnowsHowItsSessionEnds(t *testing.T) {
	for name, want := range map[string]error{"closed": ErrEnded, "killed": ErrOwnerGone} {
		t.Run(name, func(t *testing.T) {
			var events event.Bus
			c, closed, killed := running(t, &events, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			feed, err := c.Feed(ctx)
			ok(t, err)
			end := map[string]func(){"closed": closed, "killed": killed}[name]
			var received []string
			first := make(chan struct{})
			go func() {
				<-first
				events.Publish(event.Agent{ID: "lead"}, event.Hint{Text: "the last"})
				end()
			}()
			events.Publish(event.Agent{ID: "lead"}, event.Hint{Text: "the first"})
			err = feed.Each(ctx, func(raw []byte) error {
				if received = append(received, string(raw)); len(received) == 1 {
					close(first)
				}
				return nil
			})
			if !errors.Is(err, ErrEnded) || errors.Is(err, ErrOwnerGone) != (want == ErrOwnerGone) {
				t.Errorf("the feed ends with %v", err)
			}
			if want == ErrEnded && (len(received) != 2 || !strings.Contains(received[1], "the last")) {
				t.Errorf("received are %q", received)
			}
		})
	}
}

func TestQuitAsksForTheEnd(t *testing.T) {
	asked := make(chan struct{})
	c, _, killed := running(t, new(event.Bus), func() { close(asked) })
	go func() {
		<-asked
		killed()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ok(t, c.Quit(ctx))
}

func TestARequestMustSayWhatItIsAbout(t *testing.T) {
	c, _, _ := running(t, new(event.Bus), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, up := rpc.Call(ctx, c.Requests, TeamUp, TeamUpIn{})
	_, add := rpc.Call(ctx, c.Requests, TeamAdd, TeamAddIn{Name: "crew"})
	_, answer := rpc.Call(ctx, c.Requests, Answer, AnswerIn{Name: "q"})
	_, post := rpc.Call(ctx, c.Requests, Post, PostIn{})
	for what, err := range map[string]error{"team-up": up, "team-add": add, "answer": answer, "letter": post} {
		if said := (*rpc.RemoteError)(nil); !errors.As(err, &said) {
			t.Errorf("%s is answered by %v", what, err)
		}
	}
}
