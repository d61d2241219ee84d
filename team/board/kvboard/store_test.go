package kvboard_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/boardtest"
	"github.com/actorswarm/swarm/team/board/kvboard"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestStoreConforms(t *testing.T) {
	conforms(t, natsdtest.Embedded(t, natsd.Options{}), kvboard.Options{})
}

func TestStoreConformsOnAnOutsideServer(t *testing.T) {
	conforms(t, natsdtest.Start(t, natsdtest.Options{}).Conn(t), kvboard.Options{})
}

func TestStoreConformsOnACluster(t *testing.T) {
	conforms(t, natsdtest.Cluster(t, 3, natsdtest.Options{})[0].Conn(t), kvboard.Options{Replicas: 3})
}

func conforms(t *testing.T, conn *nats.Conn, o kvboard.Options) {
	var n atomic.Int32
	boardtest.Store(t, func(t *testing.T) board.Store {
		s, err := kvboard.Open(t.Context(), conn, fmt.Sprint("B", n.Add(1)), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// The server that leads is killed while writers write: each put happens once, although
// answers were lost, and no writer gets an error.
func TestAPutOutlivesALeader(t *testing.T) {
	servers := natsdtest.Cluster(t, 3, natsdtest.Options{})
	nc, err := nats.Connect(servers[0].URL+","+servers[1].URL+","+servers[2].URL, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s, err := kvboard.Open(t.Context(), nc, "B", kvboard.Options{Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(t.Context(), "KV_B")
	if err != nil {
		t.Fatal(err)
	}
	leads := servers[st.CachedInfo().Cluster.Leader[1]-'0']
	var group sync.WaitGroup
	half := make(chan struct{}, 8)
	for w := range 8 {
		group.Go(func() {
			var rev uint64
			for n := range 40 {
				if n == 20 {
					half <- struct{}{}
				}
				var err error
				if rev, err = s.Put(t.Context(), fmt.Sprint("k", w), fmt.Append(nil, n), rev); err != nil {
					t.Errorf("put %d of %d: %v", n, w, err)
					return
				}
			}
		})
	}
	<-half
	leads.Kill()
	group.Wait()
	for w := range 8 {
		if e, err := s.Get(t.Context(), fmt.Sprint("k", w)); err != nil || string(e.Value) != "39" {
			t.Errorf("at the end of %d: %+v, %v", w, e, err)
		}
	}
}
