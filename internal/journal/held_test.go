package journal_test

import (
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
)

func TestAJournalIsHeldWhileItIsOpen(t *testing.T) {
	dir := t.TempDir()
	if journal.Held(dir) {
		t.Error("a journal that was never there is held")
	}
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !journal.Held(dir) {
		t.Error("an open journal is not held")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if journal.Held(dir) {
		t.Error("a closed journal is held")
	}
}
