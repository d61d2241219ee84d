package peer

import (
	"fmt"
	"testing"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// The messages of another session are bounded in number, are not repeated, and do
// not pile up before the lead; what was let in once may come again.
func TestWhatOtherSessionsSayIsBounded(t *testing.T) {
	var in limiter
	now := time.Now()
	post := func(from mailbox.AgentID, id, text string, queued int) State {
		return in.admit(from, Message{ID: mailbox.ID(id), Text: text}, queued, now).State
	}
	is := func(what string, got, want State) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %s and not %s", what, got, want)
		}
	}
	is("a message", post("bridge-a", "m1", "hello", 0), Taken)
	is("the same message", post("bridge-a", "m1", "hello", maxQueued), Taken)
	is("another with the same text", post("bridge-a", "m2", "hello", 0), Refused)
	is("the same text of another session", post("session-a", "m2", "hello", 0), Taken)
	for i := range maxRecent - 1 {
		is("one of many", post("bridge-a", fmt.Sprint("n", i), fmt.Sprint("text ", i), 0), Taken)
	}
	is("one too many", post("bridge-a", "m3", "more", 0), Busy)
	is("one of another session", post("bridge-b", "m1", "more", 0), Taken)
	is("one for a lead with much to read", post("bridge-b", "m2", "much", maxQueued), Busy)
	now = now.Add(duplicateWindow)
	is("the same text later", post("session-a", "m4", "hello", 0), Taken)
	now = now.Add(recentWindow)
	is("one after a minute", post("bridge-a", "m3", "more", 0), Taken)
	if len(in.seen) != 1 {
		t.Errorf("it remembers %d sessions and not one", len(in.seen))
	}
}
