package transcript_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/object"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// A process that is killed after a long text was put and before the message that
// names it was accepted leaves nothing to which something refers, and what it leaves is
// collected; what a message names stays, whether or not it was ever sent on.
func TestAnObjectToWhichNothingRefersIsCollected(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("what was said. ", 10_000)
	s := open(t, dir)
	ann := born(t, s, "ann")
	e, durable, err := ann.Send(mailbox.Envelope{To: mailbox.Address{Agent: "ben"}, Kind: mailbox.KindText, Body: text})
	must(t, err)
	must(t, durable())
	lost, err := object.New(filepath.Join(dir, "objects")).Put([]byte(text + "and no more"))
	must(t, err)
	must(t, s.Close())

	again := open(t, dir)
	if got, err := again.Body(e); err != nil || got != text {
		t.Errorf("the text of the message: %d bytes, %v", len(got), err)
	}
	if again.HasBody(lost) {
		t.Error("a text that no message names is still there")
	}
	if left, err := os.ReadDir(filepath.Join(dir, "objects")); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	if !strings.HasPrefix(text, e.Body) || e.Ref.Size() != int64(len(text)) {
		t.Errorf("the message carries %d bytes and names %s", len(e.Body), e.Ref)
	}
	must(t, again.Close())
	if _, err := transcript.Open(t.Context(), dir, "session", transcript.Options{ReadOnly: true}); err != nil {
		t.Error(err)
	}
}

// Long texts that a full mailbox refuses leave nothing on the disk.
func TestARefusedLongTextIsNotKept(t *testing.T) {
	dir := t.TempDir()
	ann := born(t, open(t, dir), "ann")
	send := func(text string) error {
		_, _, err := ann.Send(mailbox.Envelope{To: mailbox.Address{Agent: "ben"}, Kind: mailbox.KindText, Body: text})
		return err
	}
	for range mailbox.DefaultLimit {
		must(t, send("short"))
	}
	if full := new(mailbox.FullError); !errors.As(send(strings.Repeat("what was said. ", 10_000)), &full) || full.Queued != mailbox.DefaultLimit {
		t.Errorf("the mailbox is not full: %+v", full)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "objects")); err == nil && len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
