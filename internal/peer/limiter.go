package peer

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// What a session takes of others (agent-system spec §4.6).
const (
	mostRecent = 30               // messages of one session within recentFor
	recentFor  = time.Minute      // ditto
	sameWithin = 30 * time.Second // in which the same text is not taken again
	mostQueued = 50               // messages that the lead has not read
)

// recent is a message that was let in.
type recent struct {
	id   mailbox.ID
	text [sha256.Size]byte
	at   time.Time
}

// limiter bounds how much other sessions say. What it does not know any more, after a
// restart, the mailbox does: a message is one message.
type limiter struct {
	mu   sync.Mutex
	seen map[mailbox.AgentID][]recent // of the last minute, oldest first; guarded by mu
}

// admit says of a message what is to become of it at once; taken is that it may come in.
// One that was let in before may again: its sender did not hear so. queued is how
// many messages the lead has to read.
func (in *limiter) admit(from mailbox.AgentID, l Message, queued int, now time.Time) Reply {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.expire(now)
	text, all := sha256.Sum256([]byte(l.Text)), in.seen[from]
	if slices.ContainsFunc(all, func(r recent) bool { return r.id == l.ID }) {
		return Reply{State: Taken}
	}
	for _, r := range all {
		if r.text == text && now.Sub(r.at) < sameWithin {
			return Reply{State: Refused, Reason: fmt.Sprintf("it got the same text as message %s a moment ago", r.id)}
		}
	}
	switch {
	case len(all) >= mostRecent:
		return Reply{State: Busy, Reason: fmt.Sprintf("it takes %d messages of one session in a minute; the message waits", mostRecent)}
	case queued >= mostQueued:
		return Reply{State: Busy, Reason: fmt.Sprintf("its lead has %d messages of other sessions to read; the message waits", queued)}
	}
	if in.seen == nil {
		in.seen = map[mailbox.AgentID][]recent{}
	}
	in.seen[from] = append(all, recent{l.ID, text, now})
	return Reply{State: Taken}
}

// expire forgets what is older than a minute; mu is held.
func (in *limiter) expire(now time.Time) {
	for from, all := range in.seen {
		all = slices.DeleteFunc(all, func(r recent) bool { return now.Sub(r.at) >= recentFor })
		if in.seen[from] = all; len(all) == 0 {
			delete(in.seen, from)
		}
	}
}
