package kvboard_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/boardtest"
	"github.com/actorswarm/swarm/team/board/kvboard"
	"github.com/nats-io/nats.go"
)

func TestStoreConforms(t *testing.T) {
	server, err := natsd.Start(t.Context(), natsd.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := server.Conn("test")
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, conn, kvboard.Options{})
}

func TestStoreConformsOnAnOutsideServer(t *testing.T) {
	conforms(t, dial(t, natsdtest.Start(t, natsdtest.Options{})), kvboard.Options{})
}

func TestStoreConformsOnACluster(t *testing.T) {
	conforms(t, dial(t, natsdtest.Cluster(t, 3, natsdtest.Options{})[0]), kvboard.Options{Replicas: 3})
}

func dial(t *testing.T, s *natsdtest.Server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
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
