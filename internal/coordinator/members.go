package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// members are the members of a session that have no host: the user, programs, and
// other sessions.
type members struct{ c *Coordinator }

// Read records that a member without a host has read messages, and sends the receipts.
// It returns when the record is on disk.
func (ms *members) Read(by mailbox.AgentID, ids ...mailbox.ID) error {
	t, err := ms.c.transcript(by)
	if err != nil {
		return err
	}
	read := slices.DeleteFunc(t.Unread(), func(e mailbox.Envelope) bool { return !slices.Contains(ids, e.ID) })
	if len(read) == 0 {
		return nil
	}
	if err := t.Read(ids...); err != nil || ms.c.opts.Receipt == nil {
		return err
	}
	for _, e := range read {
		ms.c.opts.Receipt(readReceipt(t.Address(), e))
	}
	return nil
}

// Reject is Read for a message that the member will never read. The receipt has the reason.
func (ms *members) Reject(by mailbox.AgentID, id mailbox.ID, why string) error {
	t, err := ms.c.transcript(by)
	if err != nil {
		return err
	}
	unread := t.Unread()
	at := slices.IndexFunc(unread, func(e mailbox.Envelope) bool { return e.ID == id })
	if at < 0 {
		return nil
	}
	if err := t.Reject(id, why); err != nil || ms.c.opts.Receipt == nil {
		return err
	}
	r := readReceipt(t.Address(), unread[at])
	r.State, r.Reason = mailbox.StateRejected, why
	ms.c.opts.Receipt(r)
	return nil
}

func readReceipt(me mailbox.Address, e mailbox.Envelope) mailbox.Receipt {
	return mailbox.Receipt{From: me, To: e.From, State: mailbox.StateRead, Through: e.Seq, IDs: []mailbox.ID{e.ID}}
}

// AddMember makes a program a member of the session. A member has a mailbox, and no
// host, model or turn. Its id is its name. A member that was removed is added again,
// with its mail. AddMember returns when the record is on disk. The error is an
// *agent.NameTakenError if an agent has the name.
func (ms *members) AddMember(name string) (*transcript.Transcript, error) {
	ms.c.waking.Lock()
	defer ms.c.waking.Unlock()
	if t, ok := ms.c.Find(name); ok && isProgram(t) {
		ms.c.registry.Restore(t.Spec())
		return t, t.Reopen(agent.Program, agent.Waking{})
	}
	spec := agent.Spec{ID: mailbox.AgentID(name), Name: name, Type: "outside", Role: agent.Program, Born: time.Now()}
	if !spec.ID.Valid() {
		return nil, fmt.Errorf("%.80q cannot be the name of a member: use 1 to 64 of a-z, 0-9 and '-'", name)
	}
	if err := ms.c.reserve(spec); err != nil {
		return nil, err
	}
	t, wait, err := ms.c.opts.Store.Create(spec)
	if err != nil {
		return nil, err
	}
	return t, wait()
}

// isProgram reports whether a member is a program, which no host runs.
func isProgram(t *transcript.Transcript) bool { return t.Spec().Role == agent.Program }

// RemoveMember ends the membership of a program.
func (ms *members) RemoveMember(id mailbox.AgentID) error {
	t, err := ms.c.transcript(id)
	if err != nil {
		return err
	}
	ms.c.waking.Lock()
	defer ms.c.waking.Unlock()
	return ms.c.recordEnd(t, func() error { return t.Close("it was removed from the bus", nil) })
}
