package transcript

import (
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// readMeta is the record of messages that no request carries, since a program read them.
type readMeta struct {
	Time     time.Time    `json:"t"`
	Mail     []mailbox.ID `json:"mail"`
	Rejected string       `json:"rejected,omitempty"` // why they will never be read
}

func (m readMeta) step() mailbox.Step {
	if m.Rejected != "" {
		return mailbox.Step{State: mailbox.StateRejected, Time: m.Time, Reason: m.Rejected}
	}
	return mailbox.Step{State: mailbox.StateRead, Time: m.Time}
}

// Read records that a member which is a program has read some of its messages. It returns
// when that is on disk. Messages that were read before are left out.
func (t *Transcript) Read(ids ...mailbox.ID) error { return t.readBy(readMeta{Mail: ids}) }

// Reject records that a message will never be read, and why.
func (t *Transcript) Reject(id mailbox.ID, why string) error {
	return t.readBy(readMeta{Mail: []mailbox.ID{id}, Rejected: why})
}

func (t *Transcript) readBy(m readMeta) error {
	t.mu.Lock()
	m.Time = time.Now()
	ticket, err := t.add(kindRead, &m, nil)
	t.state.ledger.Read(m.Mail...)
	t.mu.Unlock()
	return wait(ticket, err)
}
