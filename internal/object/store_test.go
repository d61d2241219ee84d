package object_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/object"
	"github.com/actorswarm/swarm/mailbox"
)

func TestPutIsDurableAndNamedByWhatItHolds(t *testing.T) {
	s := object.New(filepath.Join(t.TempDir(), "objects"))
	body := []byte(strings.Repeat("long ", 30_000))
	ref, err := s.Put(body)
	if err != nil || ref != mailbox.RefOf(body) || ref.Size() != int64(len(body)) {
		t.Fatalf("put: %s, %v", ref, err)
	}
	if got, err := s.Get(ref); err != nil || !bytes.Equal(got, body) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	info, err := os.Stat(s.Path(ref))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if _, err := s.Get(mailbox.RefOf([]byte("another"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	if large := new(mailbox.TooLargeError); !errors.As(second(s.Put(make([]byte, object.MaxSize+1))), &large) || large.Limit != object.MaxSize {
		t.Errorf("one that is too large: %v", large)
	}
}

func second(_ mailbox.Ref, err error) error { return err }

func TestADamagedObjectIsNotReturned(t *testing.T) {
	s := object.New(t.TempDir())
	ref, err := s.Put([]byte("what was said"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(ref), []byte("what was sold"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ref); !errors.As(err, new(*object.DamagedError)) {
		t.Errorf("a changed file: %v", err)
	}
	if _, err := s.Put([]byte("what was said")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ref); err != nil || string(got) != "what was said" {
		t.Errorf("put again: %q, %v", got, err)
	}
}

func TestTheSameTextIsKeptOnce(t *testing.T) {
	dir := t.TempDir()
	s := object.New(dir)
	for range 3 {
		if _, err := s.Put([]byte("again")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.MarkReferenced(mailbox.RefOf([]byte("again"))); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the directory holds %v, %v", names, err)
	}
}
