package natsbox

import (
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
)

func TestSolePurgesForgottenMessages(t *testing.T) {
	for name, c := range map[string]struct {
		sole  bool
		first uint64
	}{"sole": {true, 3}, "shared": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			s, err := natsd.Start(t.Context(), natsd.Options{StoreDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			}()
			nc, err := s.Conn("test")
			if err != nil {
				t.Fatal(err)
			}
			b, came := New(nc, Options{Space: "test", Sole: c.sole}), make(chan mailbox.Cursor, 10)
			deliver := func(_ mailbox.Envelope, at mailbox.Cursor) { came <- at }
			if err := b.Start(t.Context(), mailbox.Cursor{}, deliver, func(mailbox.Receipt) {}); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Stop(); err != nil {
					t.Error(err)
				}
			}()
			for seq := range uint64(4) {
				e := mailbox.Envelope{
					ID: mailbox.NewID(), From: mailbox.Address{Agent: "a"}, To: mailbox.Address{Agent: "b"},
					Seq: seq + 1, Kind: mailbox.KindText, Sent: time.Now(),
				}
				if err := b.Publish(e); err != nil {
					t.Fatal(err)
				}
				if at := <-came; at.Seq == 2 {
					if err := b.Forget(at); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 2 { // the second finds nothing to do
				if err := b.checkStream(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			st, err := b.js.Stream(t.Context(), "MB_test")
			if err != nil {
				t.Fatal(err)
			}
			if got := st.CachedInfo().State.FirstSeq; got != c.first {
				t.Errorf("the stream begins at %d, want %d", got, c.first)
			}
		})
	}
}
