package transcript

import (
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// readMeta is the record of messages that no request carries: who read them
// stands outside.
type readMeta struct {
	Time time.Time    `json:"t"`
	Mail []mailbox.ID `json:"mail"`
}

// Read records that a member outside has read some of its messages. It returns
// when that is on disk. Messages that are not unread are left out.
func (t *Transcript) Read(ids ...mailbox.ID) error {
	t.mu.Lock()
	ticket, err := t.add(kindRead, &readMeta{Time: time.Now(), Mail: ids}, nil)
	t.ledger.Read(ids...)
	t.mu.Unlock()
	return wait(ticket, err)
}
