package swarm

import (
	"context"
	"encoding/json"
	"errors"
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
	answer, err := askInParts(ctx, n.conn, nodeSubject(n.info.ID, n.o.Agent, "up", verb), raw)
	if err != nil {
		return &NoOwnerError{Asked: verb, Err: err}
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("read the answer of the session's owner: %w", err)
	}
	return nil
}

// NoOwnerError reports that the process which owns the session did not answer a
// process of one of its agents.
type NoOwnerError struct {
	Asked string
	Err   error
}

func (e *NoOwnerError) Error() string {
	return fmt.Sprintf("the process that owns the session does not answer (asked to %s: %v); try again later", e.Asked, e.Err)
}

func (e *NoOwnerError) Unwrap() error { return e.Err }

// Find implements actors.Owner.
func (n *Node) Find(name string) []*transcript.Transcript {
	all, err := n.find(name)
	if err != nil {
		return nil // who asks tells it, or knows the agent itself
	}
	return all
}

func (n *Node) find(name string) ([]*transcript.Transcript, error) {
	return n.met("find", nodeCall{Name: name})
}

// met makes the agents known here that the owner names in its answer.
func (n *Node) met(verb string, c nodeCall) (all []*transcript.Transcript, err error) {
	out, err := n.request(verb, c)
	if err != nil {
		return nil, err
	}
	for _, spec := range out.Found {
		t, err := n.session.agents.Meet(spec)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Wake implements actors.Owner. Without an owner the message is accepted all the
// same and waits in the outbox.
func (n *Node) Wake(id, by mailbox.AgentID) error {
	c := nodeCall{Name: string(id), By: by}
	if t, ok := n.session.store.Get(by); ok && by != n.id && !t.IsShadow() {
		spec := t.Spec()
		c.Spec = &spec
	}
	_, err := n.request("wake", c)
	if silent := (*NoOwnerError)(nil); errors.As(err, &silent) {
		n.session.opts.Logger.Warn("the session's owner does not answer", "to wake", id, "error", err)
		return nil
	}
	return err
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
