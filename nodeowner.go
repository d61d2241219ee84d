package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// ask puts a request to the owner of the session.
func (n *Node) ask(ctx context.Context, verb string, in, out any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askNodeWithin)
	defer cancel()
	m, err := n.conn.RequestWithContext(ctx, nodeSubject(n.info.ID, n.o.Agent, "up", verb), raw)
	if err != nil {
		return fmt.Errorf("ask the session's owner to %s: %w", verb, err)
	}
	if err := json.Unmarshal(m.Data, out); err != nil {
		return fmt.Errorf("read the answer of the session's owner: %w", err)
	}
	return nil
}

// Find implements actors.Owner.
func (n *Node) Find(name string) (*transcript.Transcript, bool) {
	var out nodeReply
	ctx := n.session.scope
	if err := n.ask(ctx, "find", nodeCall{Name: name, Launch: n.o.Launch}, &out); err != nil || out.Spec == nil {
		return nil, false
	}
	t, err := n.session.agents.Meet(*out.Spec)
	return t, err == nil
}

// Wake implements actors.Owner. Without an owner the message is accepted all the
// same and waits in the outbox.
func (n *Node) Wake(id, by mailbox.AgentID) error {
	var out nodeReply
	err := n.ask(n.session.scope, "wake", nodeCall{Name: string(id), By: by, Launch: n.o.Launch}, &out)
	if err != nil {
		n.session.opts.Logger.Warn("the session's owner does not answer", "to wake", id, "error", err)
		return nil
	}
	if out.Error != "" {
		return errors.New(out.Error)
	}
	return nil
}
