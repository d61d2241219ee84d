package kvboard_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/boardtest"
	"github.com/actorswarm/swarm/team/board/kvboard"
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
	var n atomic.Int32
	boardtest.Store(t, func(t *testing.T) board.Store {
		s, err := kvboard.Open(t.Context(), conn, fmt.Sprint("B", n.Add(1)), kvboard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
