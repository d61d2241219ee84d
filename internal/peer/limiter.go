package peer

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// The limits for messages of other sessions.
const (
	maxRecent       = 30               // messages of one session within recentWindow
	recentWindow    = time.Minute      // ditto
	duplicateWindow = 30 * time.Second // in which a repeated text is refused
	maxQueued       = 50               // unread messages of other sessions
)

// recent is a message that was admitted.
type recent struct {
	id   mailbox.ID
	text [sha256.Size]byte
	at   time.Time
}

// limiter bounds the messages of other sessions. Its state is not stored: after a
// restart, the ids of messages still prevent duplicates.
type limiter struct {
	mu   sync.Mutex
	seen map[mailbox.AgentID][]recent // of the last minute, oldest first; guarded by mu
}

// admit returns Taken for a message within the limits. A message that was admitted
// before is admitted again, because its sender may not have received the reply. queued
// is the number of unread messages of other sessions.
func (in *limiter) admit(from mailbox.AgentID, l Message, queued int, now time.Time) Reply {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.expire(now)
	text, all := sha256.Sum256([]byte(l.Text)), in.seen[from]
	if slices.ContainsFunc(all, func(r recent) bool { return r.id == l.ID }) {
		return Reply{State: Taken}
	}
	for _, r := range all {
		if r.text == text && now.Sub(r.at) < duplicateWindow {
			return Reply{State: Refused, Reason: fmt.Sprintf("it got the same text as message %s a moment ago", r.id)}
		}
	}
	switch {
	case len(all) >= maxRecent:
		return Reply{State: Busy, Reason: fmt.Sprintf("it takes %d messages of one session in a minute; the message waits", maxRecent)}
	case queued >= maxQueued:
		return Reply{State: Busy, Reason: fmt.Sprintf("its lead has %d messages of other sessions to read; the message waits", queued)}
	}
	if in.seen == nil {
		in.seen = map[mailbox.AgentID][]recent{}
	}
	in.seen[from] = append(all, recent{l.ID, text, now})
	return Reply{State: Taken}
}

// expire removes messages older than recentWindow; mu is held.
func (in *limiter) expire(now time.Time) {
	for from, all := range in.seen {
		all = slices.DeleteFunc(all, func(r recent) bool { return now.Sub(r.at) >= recentWindow })
		if in.seen[from] = all; len(all) == 0 {
			delete(in.seen, from)
		}
	}
}
