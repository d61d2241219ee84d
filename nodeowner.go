package swarm

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// askOwner puts a request to the owner of the session.
func askOwner[In, Out any](ctx context.Context, n *Node, m rpc.Method[In, Out], in In) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, askNodeWithin)
	defer cancel()
	return rpc.Call(ctx, n.owner(), m, in)
}

func (n *Node) owner() *rpc.Client {
	return rpc.NewClient(n.conn, workerapi.OwnerSubject(n.info.ID).From(n.o.Agent), rpc.ClientOptions{
		Errors: workerapi.WorkerErrors(), Failed: func(method string, err error) error { return &NoOwnerError{Asked: method, Err: err} },
	})
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
	return n.met(askOwner(n.session.scope, n, workerapi.UpFind, workerapi.NameIn{Name: name, Launch: n.o.Launch}))
}

// met makes the agents known here that the owner names in its answer.
func (n *Node) met(out workerapi.FoundOut, err error) (all []*transcript.Transcript, _ error) {
	if err != nil {
		return nil, err
	}
	for _, spec := range out.Found {
		if err := n.session.agents.Register(spec); err != nil {
			return nil, err
		}
		if t, ok := n.session.store.Get(spec.ID); ok {
			all = append(all, t)
		}
	}
	return all, nil
}

// Reopen implements actors.Owner. Without an owner the message is accepted all the
// same and waits in the outbox.
func (n *Node) Reopen(id, by mailbox.AgentID) error {
	c := workerapi.WakeIn{Name: string(id), By: by, Launch: n.o.Launch}
	if t, ok := n.session.store.Get(by); ok && by != n.id && !t.IsReplica() {
		spec := t.Spec()
		c.Spec = &spec
	}
	_, err := askOwner(n.session.scope, n, workerapi.UpWake, c)
	if silent := (*NoOwnerError)(nil); errors.As(err, &silent) {
		n.session.opts.Logger.Warn("the session's owner does not answer", "to wake", id, "error", err)
		return nil
	}
	return err
}

// Self implements actors.Owner.
func (n *Node) Self() mailbox.AgentID { return n.id }

// Life implements actors.Owner.
func (n *Node) Life(id mailbox.AgentID) (agent.Record, error) {
	out, err := askOwner(n.session.scope, n, workerapi.UpLife, workerapi.NameIn{Name: string(id), Launch: n.o.Launch})
	if err != nil || out.Life == nil {
		return agent.Record{}, err
	}
	return *out.Life, nil
}

// DecidePlan implements actors.Owner.
func (n *Node) DecidePlan(id mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	_, err := askOwner(n.session.scope, n, workerapi.UpPlan, workerapi.PlanIn{Name: string(id), Launch: n.o.Launch, Plan: &r, Key: key})
	return err
}

// RequestShutdown implements actors.Owner.
func (n *Node) RequestShutdown(id mailbox.AgentID, d actors.Dismissal) (protocol.Shutdown, error) {
	out, err := askOwner(n.session.scope, n, workerapi.UpDismiss, workerapi.DismissIn{Name: string(id), Launch: n.o.Launch, Dismiss: &d})
	if err != nil || out.Ending == nil {
		return protocol.Shutdown{}, err
	}
	return *out.Ending, nil
}

// AnswerShutdown implements actors.Owner.
func (n *Node) AnswerShutdown(r message.ShutdownResponse, key string) error {
	_, err := askOwner(n.session.scope, n, workerapi.UpAnswerShutdown, workerapi.AnswerShutdownIn{Launch: n.o.Launch, Shutdown: &r, Key: key})
	return err
}
