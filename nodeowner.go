package swarm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
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
	return out.err()
}

// Self implements actors.Owner.
func (n *Node) Self() mailbox.AgentID { return n.id }

// Life implements actors.Owner.
func (n *Node) Life(id mailbox.AgentID) (transcript.Life, error) {
	out, err := n.request("life", nodeCall{Name: string(id)})
	if err != nil || out.Life == nil {
		return transcript.Life{}, err
	}
	return *out.Life, nil
}

// DecidePlan implements actors.Owner.
func (n *Node) DecidePlan(id mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	_, err := n.request("plan", nodeCall{Name: string(id), Plan: &r, Key: key})
	return err
}

// RequestShutdown implements actors.Owner.
func (n *Node) RequestShutdown(id mailbox.AgentID, d actors.Dismissal) (protocol.Shutdown, error) {
	out, err := n.request("dismiss", nodeCall{Name: string(id), Dismiss: &d})
	if err != nil || out.Ending == nil {
		return protocol.Shutdown{}, err
	}
	return *out.Ending, nil
}

// AnswerShutdown implements actors.Owner.
func (n *Node) AnswerShutdown(r message.ShutdownResponse, key string) error {
	_, err := n.request("answer-shutdown", nodeCall{Shutdown: &r, Key: key})
	return err
}

// request puts something to the owner that only it can decide.
func (n *Node) request(verb string, c nodeCall) (nodeReply, error) {
	var out nodeReply
	c.Launch = n.o.Launch
	if err := n.ask(n.session.scope, verb, c, &out); err != nil {
		return out, err
	}
	return out, out.err()
}
