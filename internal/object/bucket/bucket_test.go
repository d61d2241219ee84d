package bucket_test

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/internal/object/bucket"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func open(t *testing.T, conn *nats.Conn, o bucket.Options) *bucket.Bucket {
	t.Helper()
	b, err := bucket.New(conn, "OB_s1", o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// store is the bucket as any client of the server sees it.
func store(t *testing.T, conn *nats.Conn) jetstream.ObjectStore {
	t.Helper()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.ObjectStore(t.Context(), "OB_s1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, b *bucket.Bucket, body []byte) mailbox.Ref {
	t.Helper()
	ref := mailbox.RefOf(body)
	if err := b.Put(t.Context(), ref, func() ([]byte, error) { return body, nil }); err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestAnObjectIsReadOnAnotherConnection(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		conn := natsdtest.Embedded(t, natsd.Options{})
		crosses(t, conn, conn, bucket.Options{})
	})
	t.Run("outside", func(t *testing.T) {
		s := natsdtest.Start(t, natsdtest.Options{})
		crosses(t, s.Conn(t), s.Conn(t), bucket.Options{})
	})
	t.Run("cluster", func(t *testing.T) {
		s := natsdtest.Cluster(t, 3, natsdtest.Options{})
		crosses(t, s[0].Conn(t), s[1].Conn(t), bucket.Options{Replicas: 3})
	})
}

func crosses(t *testing.T, here, there *nats.Conn, o bucket.Options) {
	body := []byte(strings.Repeat("a long text. ", 100_000))
	reader := open(t, there, o)
	if _, err := reader.Get(t.Context(), mailbox.RefOf(body)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before there is a bucket: %v", err)
	}
	ref := put(t, open(t, here, o), body)
	got, err := reader.Get(t.Context(), ref)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for n := 0; err != nil && o.Replicas > 1 && n < 1000; n++ { // a copy may be behind: the message is sent again then
		<-again.C
		got, err = reader.Get(t.Context(), ref)
	}
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("got %d bytes of %d, %v", len(got), len(body), err)
	}
	if _, err := reader.Get(t.Context(), mailbox.RefOf([]byte("another"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestPutReplacesWhatIsNotTheObject(t *testing.T) {
	conn := natsdtest.Embedded(t, natsd.Options{})
	b := open(t, conn, bucket.Options{})
	ref := put(t, b, []byte("what was said"))
	if _, err := store(t, conn).PutString(t.Context(), ref.Hash(), "what was sold"); err != nil {
		t.Fatal(err)
	}
	put(t, b, []byte("what was said"))
	if got, err := b.Get(t.Context(), ref); err != nil || string(got) != "what was said" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := b.Put(t.Context(), ref, func() ([]byte, error) { t.Error("it was put again"); return nil, nil }); err != nil {
		t.Error(err)
	}
}

func TestAWrongObjectIsNotReturned(t *testing.T) {
	conn := natsdtest.Embedded(t, natsd.Options{})
	b := open(t, conn, bucket.Options{})
	ref := put(t, b, []byte("what was said"))
	if _, err := store(t, conn).PutString(t.Context(), ref.Hash(), "what was sold"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), ref); !errors.As(err, new(*bucket.MismatchError)) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestSweepTakesWhatNobodyNeeds(t *testing.T) {
	b := open(t, natsdtest.Embedded(t, natsd.Options{}), bucket.Options{})
	if err := b.Sweep(t.Context(), func(string) bool { return false }, 0); err != nil {
		t.Errorf("without a bucket: %v", err)
	}
	kept, gone := put(t, b, []byte("needed")), put(t, b, []byte("not needed"))
	needed := func(hash string) bool { return hash == kept.Hash() }
	if err := b.Sweep(t.Context(), needed, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), gone); err != nil {
		t.Errorf("a young one was taken: %v", err)
	}
	if err := b.Sweep(t.Context(), needed, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), kept); err != nil {
		t.Errorf("one that is needed was taken: %v", err)
	}
	if _, err := b.Get(t.Context(), gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that nobody needs: %v", err)
	}
	put(t, b, []byte("not needed"))
}
