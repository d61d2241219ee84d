package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// callOwner makes a request to the owner of the session.
func callOwner[In, Out any](ctx context.Context, w *Worker, m rpc.Method[In, Out], in In) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, workerapi.RequestTimeout)
	defer cancel()
	return rpc.Call(ctx, w.owner(), m, in)
}

func (w *Worker) owner() *rpc.Client {
	return rpc.NewClient(w.conn, workerapi.OwnerSubject(w.info.ID).From(w.options.Agent), rpc.ClientOptions{
		Errors: workerapi.WorkerErrors(), Failed: func(method string, err error) error { return &NoOwnerError{Method: method, Err: err} },
	})
}

// NoOwnerError reports that the owner of the session did not answer a request of a
// worker.
type NoOwnerError struct {
	Method string
	Err    error
}

func (e *NoOwnerError) Error() string {
	return fmt.Sprintf("the process that owns the session does not answer (asked to %s: %v); try again later", e.Method, e.Err)
}

func (e *NoOwnerError) Unwrap() error { return e.Err }

// Find implements coordinator.Owner.
func (w *Worker) Find(name string) []*transcript.Transcript {
	all, err := w.find(name)
	if err != nil {
		return nil // the caller reports that there is no such agent, or knows it itself
	}
	return all
}

func (w *Worker) find(name string) ([]*transcript.Transcript, error) {
	return w.registerFound(callOwner(w.scope, w, workerapi.UpFind, workerapi.NameIn{Name: name, Launch: w.options.Launch}))
}

// registerFound registers the agents in a reply of the owner.
func (w *Worker) registerFound(out workerapi.FoundOut, err error) (all []*transcript.Transcript, _ error) {
	if err != nil {
		return nil, err
	}
	for _, spec := range out.Found {
		if err := w.node.Agents.Register(spec); err != nil {
			return nil, err
		}
		if t, ok := w.node.Store.Get(spec.ID); ok {
			all = append(all, t)
		}
	}
	return all, nil
}

// Reopen implements coordinator.Owner. Without an owner the message is accepted all the same
// and waits in the outbox.
func (w *Worker) Reopen(id, by mailbox.AgentID) error {
	c := workerapi.WakeIn{Name: string(id), By: by, Launch: w.options.Launch}
	if t, ok := w.node.Store.Get(by); ok && by != w.id && !t.IsReplica() {
		spec := t.Spec()
		c.Spec = &spec
	}
	_, err := callOwner(w.scope, w, workerapi.UpWake, c)
	if noOwner := (*NoOwnerError)(nil); errors.As(err, &noOwner) {
		w.options.Logger.Warn("the session's owner does not answer", "to wake", id, "error", err)
		return nil
	}
	return err
}

// Self implements coordinator.Owner.
func (w *Worker) Self() mailbox.AgentID { return w.id }

// Record implements coordinator.Owner.
func (w *Worker) Record(id mailbox.AgentID) (agent.Record, error) {
	out, err := callOwner(w.scope, w, workerapi.UpRecord, workerapi.NameIn{Name: string(id), Launch: w.options.Launch})
	if err != nil || out.Record == nil {
		return agent.Record{}, err
	}
	return *out.Record, nil
}

// DecidePlan implements coordinator.Owner.
func (w *Worker) DecidePlan(id mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	_, err := callOwner(w.scope, w, workerapi.UpPlan, workerapi.PlanIn{Name: string(id), Launch: w.options.Launch, Plan: &r, Key: key})
	return err
}

// RequestShutdown implements coordinator.Owner.
func (w *Worker) RequestShutdown(id mailbox.AgentID, d actors.ShutdownOptions) (protocol.Shutdown, error) {
	out, err := callOwner(w.scope, w, workerapi.UpRequestShutdown, workerapi.RequestShutdownIn{Name: string(id), Launch: w.options.Launch, Dismiss: &d})
	if err != nil || out.Ending == nil {
		return protocol.Shutdown{}, err
	}
	return *out.Ending, nil
}

// AnswerShutdown implements coordinator.Owner.
func (w *Worker) AnswerShutdown(r message.ShutdownResponse, key string) error {
	_, err := callOwner(w.scope, w, workerapi.UpAnswerShutdown, workerapi.AnswerShutdownIn{Launch: w.options.Launch, Shutdown: &r, Key: key})
	return err
}
