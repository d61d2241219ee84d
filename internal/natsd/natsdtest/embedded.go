package natsdtest

import (
	"testing"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/nats-io/nats.go"
)

// Embedded starts a server as a session has it, on a store of its own, and returns
// a connection to it.
func Embedded(t testing.TB, o natsd.Options) *nats.Conn {
	t.Helper()
	o.StoreDir = t.TempDir()
	server, err := natsd.Start(t.Context(), o)
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
	return conn
}

// Conn returns a connection to the server, which ends with the test.
func (s *Server) Conn(t testing.TB) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
