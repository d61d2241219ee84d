// Package stall keeps an agent from failing over and over on the same mail.
//
// A turn can fail before its first request: there is no key, no model of that name, no
// directory. It leaves the mail that began it unread, which would begin the next turn at
// once:
//
//	var g stall.Guard // one for each agent
//	if next := g.Ended(failed, unread); next.Tries > 0 && g.Await(next, ended, shutdown) {
//		wake()
//	}
//	begins := hasMail && !g.Holds(unread)
//
// Laws:
//
//   - A turn that fails and leaves its mail unread is not followed by another for that
//     mail before a time that doubles with each (TestEachTryComesLaterThanTheOneBefore).
//   - New mail is not held back (TestNewMailIsNotHeldBack).
//   - A turn that read its mail, or did not fail, begins the times anew
//     (TestATurnThatReadsItsMailEndsTheStall).
package stall

import (
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// The times between tries.
const (
	first   = 2 * time.Second
	longest = 5 * time.Minute
)

// Guard counts the turns of one agent that failed before they read their mail. Its
// methods may be called by several goroutines.
type Guard struct {
	mu    sync.Mutex
	tries int        // guarded by mu, as below
	began mailbox.ID // newest mail at the beginning of the turn
	held  mailbox.ID // newest mail that begins no turn; "" if none is held
}

// Begins records the mail that is unread when a turn begins.
func (g *Guard) Begins(unread []mailbox.Envelope) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.began, g.held = newest(unread), ""
}

// Retry is when mail may begin another turn, after so many that failed.
type Retry struct {
	Wait  time.Duration
	Tries int
}

// Ended records how a turn ended. If it failed and left all mail unread, the result has
// tries.
func (g *Guard) Ended(failed bool, unread []mailbox.Envelope) Retry {
	g.mu.Lock()
	defer g.mu.Unlock()
	if mail := newest(unread); !failed || mail == "" || mail != g.began {
		g.tries = 0
		return Retry{}
	}
	g.held = g.began
	g.tries++
	return Retry{min(first<<min(g.tries-1, 16), longest), g.tries}
}

// Await waits, and then lets the mail begin a turn again. It returns false at once when
// the agent or the session is over.
func (g *Guard) Await(next Retry, ended, shutdown <-chan struct{}) bool {
	select {
	case <-time.After(next.Wait):
	case <-ended:
		return false
	case <-shutdown:
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = ""
	return true
}

// Warning returns what the user is told about an agent whose turns fail.
func (r Retry) Warning(name string) string {
	return fmt.Sprintf("%s fails before it has read its mail; it tries again in %s, then less often", name, r.Wait)
}

// Holds reports whether the unread mail begins no turn. It calls unread only if mail is
// held.
func (g *Guard) Holds(unread func() []mailbox.Envelope) bool {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	return held != "" && held == newest(unread())
}

func newest(mail []mailbox.Envelope) mailbox.ID {
	if len(mail) == 0 {
		return ""
	}
	return mail[len(mail)-1].ID
}
