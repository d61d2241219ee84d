package coordinator

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// AddMember makes a program outside a member of the session, by name: it can be
// written to and has a mailbox, and no host, model or turn. Its id is its name.
// One that was expelled is taken in again with the mail that it has. AddMember
// returns when that is on disk. The error is a NameTakenError when an agent has
// the name.
func (ms *members) AddMember(name string) (*transcript.Transcript, error) {
	ms.c.reviving.Lock()
	defer ms.c.reviving.Unlock()
	if t, ok := ms.c.Find(name); ok && isOutside(t) {
		ms.c.registry.Retake(t.Spec())
		return t, t.Reopen(agent.Outside, agent.Waking{})
	}
	spec := agent.Spec{ID: mailbox.AgentID(name), Name: name, Type: "outside", Role: agent.Outside, Born: time.Now()}
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

// isOutside reports a member that no host runs.
func isOutside(t *transcript.Transcript) bool { return t.Spec().Role == agent.Outside }

// RemoveMember ends the membership of a program outside.
func (ms *members) RemoveMember(id mailbox.AgentID) error {
	t, err := ms.c.transcript(id)
	if err != nil {
		return err
	}
	ms.c.reviving.Lock()
	defer ms.c.reviving.Unlock()
	return ms.c.recordEnd(t, func() error { return t.Close("it was removed from the bus", nil) })
}
