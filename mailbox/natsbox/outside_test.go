package natsbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/mailboxtest"
	"github.com/actorswarm/swarm/mailbox/natsbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func dial(t testing.TB, servers ...*natsdtest.Server) *nats.Conn {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL)
	}
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	nc, err := nats.Connect(strings.Join(urls, ","), quiet, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// suite runs the conformance suite on running servers, each part in a space of its own.
func suite(t *testing.T, replicas int, servers ...*natsdtest.Server) {
	var spaces atomic.Int32
	mailboxtest.Run(t, func(t *testing.T) mailboxtest.Harness {
		space := fmt.Sprint("s", spaces.Add(1))
		js := jet(t, dial(t, servers...))
		return mailboxtest.Harness{
			Timeout: time.Minute,
			Join: func(t *testing.T) mailbox.Transport {
				return natsbox.New(dial(t, servers...), natsbox.Options{Space: space, Replicas: replicas, MaxBytes: 16 << 20})
			},
			Regress: func(t *testing.T) {
				if err := js.DeleteStream(t.Context(), "MB_"+space); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestBoxPassesTheSuiteOnAnOutsideServer(t *testing.T) {
	suite(t, 0, natsdtest.Start(t, natsdtest.Options{}))
}

func TestBoxPassesTheSuiteOnACluster(t *testing.T) {
	suite(t, 3, natsdtest.Cluster(t, 3, natsdtest.Options{})...)
}

// leader returns the server that leads the stream of a space.
func leader(t *testing.T, nc *nats.Conn, space string, servers []*natsdtest.Server) *natsdtest.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		st, err := jet(t, nc).Stream(ctx, "MB_"+space)
		if err != nil {
			continue // no server answers during an election
		}
		if c := st.CachedInfo().Cluster; c != nil && c.Leader != "" {
			return servers[c.Leader[1]-'0']
		}
	}
	t.Fatal("the stream has no leader")
	return nil
}

// A three-node cluster loses the leader of the stream in mid-stream, by kill -9 and
// for good, and every message arrives once and in order.
func TestClusterLosesItsLeaderInMidStream(t *testing.T) {
	t.Parallel() // it waits for elections most of the time
	servers := natsdtest.Cluster(t, 3, natsdtest.Options{})
	o := natsbox.Options{Space: "lead", Replicas: 3, MaxBytes: 16 << 20}
	courier := mailbox.CourierOptions{ResendAfter: 100 * time.Millisecond}
	a := mailboxtest.NewNode(mailboxtest.NewStore("a"), courier)
	b := mailboxtest.NewNode(mailboxtest.NewStore("b"), courier)
	for _, n := range []*mailboxtest.Node{a, b} {
		if err := n.Start(t.Context(), natsbox.New(dial(t, servers...), o)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Courier.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	look := dial(t, servers...)
	for i := range 200 {
		if i == 100 {
			leader(t, look, o.Space, servers).Kill()
		}
		if _, err := a.Send("a", "b", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Await(time.Minute, "all mail is delivered", func() bool { return len(a.Store.Pending()) == 0 }); err != nil {
		t.Fatal(err, a.Errors())
	}
	if err := mailboxtest.Verify(a, b); err != nil {
		t.Error(err)
	}
	if n := len(b.Store.Transcript("b")); n != 200 {
		t.Errorf("b has %d messages, want 200", n)
	}
}

// A server without JetStream causes an error at once.
func TestServerWithoutJetStreamIsAnError(t *testing.T) {
	natsdtest.Require(t)
	for name, c := range map[string]struct {
		config string
		user   nats.Option
		want   error
	}{
		"for the account": {"accounts { A { jetstream: disabled, users: [{user: a, password: a}] } }\nauthorization {}", nats.UserInfo("a", "a"), jetstream.ErrJetStreamNotEnabledForAccount},
		"at all":          {"jetstream: disabled # no authorization", nats.Name("test"), jetstream.ErrJetStreamNotEnabled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := natsdtest.Start(t, natsdtest.Options{Config: c.config})
			nc, err := nats.Connect(s.URL, c.user)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			b := natsbox.New(nc, natsbox.Options{Space: "test"})
			err = b.Start(t.Context(), mailbox.Cursor{}, func(mailbox.Envelope, mailbox.Cursor) {}, func(mailbox.Receipt) {})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "JetStream must be on") {
				t.Errorf("Start = %v", err)
			}
		})
	}
}
